// SPDX-License-Identifier: GPL-2.0-or-later
// The page of running jobs while they change: node site-live.js FOLDER, where tests/e2e/site/live.py has put cases.json: the server, and a file in which it
// writes what is to be changed; each change is done when that file is empty again. Prints a line per test.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LAPTOP, PHONE, cases, crowded, folder, launch, tried, wrongOnPaper } from './common.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });
const wish = join(folder, 'wish.json');

// SQL that the test's script executes.
async function changed(...sql) {
	writeFileSync(`${wish}.new`, JSON.stringify(sql));
	renameSync(`${wish}.new`, wish);
	for (let i = 0; i < 200 && existsSync(wish); i++)
		await wait(25);
}

async function tab(browser, viewport = LAPTOP, colorScheme = 'light') {
	const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', reducedMotion: 'reduce' }), page = await context.newPage();

	page.troubles = [];
	page.on('pageerror', (e) => page.troubles.push(e.stack));
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && !/^Failed to load resource/.test(m.text()) && page.troubles.push(m.text()));
	return page;
}

const ids = (page) => page.evaluate(() => [...document.querySelectorAll('.live tbody tr[data-key]')].map((tr) => tr.querySelector('.open').textContent));
const cell = (page, id, i) => page.evaluate(([n, k]) => [...document.querySelectorAll('.live tbody tr[data-key]')].find((tr) => tr.querySelector('.open').textContent === n)?.cells[k].textContent, [id, i]);
const state = (page) => page.evaluate(() => document.querySelector('.upd').textContent);
const until = async (f, seconds = 10) => {
	for (const end = Date.now() + 1000 * seconds; Date.now() < end; await wait(50))
		if (await f())
			return true;
	return false;
};
const LOSES = 2;
const few = (v) => { const a = Math.abs(v); return a >= 99.95 ? Math.round(v).toLocaleString('en-US') : a >= 9.995 ? v.toFixed(1) : a >= 0.0995 ? v.toFixed(2) : v.toFixed(3); };

async function begin(browser) {
	const page = await tab(browser);

	await page.goto(`${cases.base}/running`);
	await page.waitForSelector('.live tbody tr');
	return page;
}

async function asTheVerb(browser) {
	const page = await begin(browser), d = await (await page.request.get(`${cases.base}/running.json`)).json();
	const needed = d.rows.filter((r) => r.full_at !== null || r.losing_cores >= 1), seen = await ids(page);

	if (seen.join() !== needed.map((r) => r.job_id).join())
		return `rows ${seen.slice(0, 5)} are not ${needed.slice(0, 5).map((r) => r.job_id)}`;
	for (const r of needed.slice(0, 30)) {
		const said = await cell(page, String(r.job_id), LOSES);

		if (r.losing_cores !== null && said !== few(r.losing_cores))
			return `job ${r.job_id} loses ${said}, not ${few(r.losing_cores)}`;
	}
	const text = await page.evaluate(() => document.querySelector('header .about').textContent);

	if (!text.includes(`${d.losing} of ${d.jobs} running jobs`) || !text.includes(`${d.waiting} wait`))
		return `it says "${text}"`;
	await page.click('.others');
	if ((await ids(page)).length !== d.rows.length)
		return `unfolded there are ${(await ids(page)).length} rows of ${d.rows.length}`;
	return page.troubles.join('; ');
}

async function inPlace(browser) {
	const page = await begin(browser), before = await ids(page), last = before.at(-1);

	await page.hover('.live tbody tr:nth-child(2)');
	await changed(`UPDATE running SET losing_cores = 99999, full_at = NULL, rule = 'mpi.imbalance', text = 'What is new' WHERE job_id = ${last}`);
	if (!await until(async () => (await cell(page, last, LOSES)) === '99,999'))
		return `job ${last} still loses ${await cell(page, last, LOSES)}`;
	if ((await ids(page)).join() !== before.join())
		return 'rows moved under the pointer';
	if (!await page.evaluate((id) => [...document.querySelectorAll('tr.new .open')].some((b) => b.textContent === id), last))
		return 'what is new has no tint';
	const told = await page.evaluate(() => document.querySelector('.sr[aria-live=polite]').textContent);

	if (!told.includes(last) || !told.includes('What is new'))
		return `it says "${told}"`;
	await changed(`DELETE FROM running WHERE job_id = ${before[0]}`);
	if (!await until(() => page.evaluate((id) => [...document.querySelectorAll('tr.gone .open')].some((b) => b.textContent === id), before[0])))
		return 'a job that has ended is not said to have';
	await page.mouse.move(5, 5);
	if (!await until(async () => (await ids(page)).join() !== before.join()))
		return 'rows stay where they were when the pointer has gone';
	return (await ids(page)).includes(before[0]) ? 'a job that has ended stays' : page.troubles.join('; ');
}

async function keys(browser) {
	const page = await begin(browser), before = await ids(page);

	await page.keyboard.press('j');
	await page.keyboard.press('j');
	await page.keyboard.press('Enter');
	if (await page.evaluate(() => document.querySelector('tr.on .open').textContent) !== before[1] || !await page.locator('.detail').isVisible())
		return 'j and Enter do not open the second row';
	await changed(`UPDATE running SET losing_cores = 88888, full_at = NULL WHERE job_id = ${before.at(-1)}`);
	await until(async () => (await cell(page, before.at(-1), LOSES)) === '88,888');
	if ((await ids(page)).slice(0, 3).join() !== before.slice(0, 3).join())
		return 'rows move while one is chosen';
	await page.keyboard.press('Escape');
	await page.keyboard.press('p');
	if (!(await state(page)).startsWith('stopped'))
		return `p: "${await state(page)}"`;
	const first = (await ids(page))[0];

	await changed(`UPDATE running SET losing_cores = 77777, full_at = NULL WHERE job_id = ${first}`);
	await wait(1500);
	if ((await cell(page, first, LOSES)) === '77,777')
		return 'it goes on while it is stopped';
	await page.keyboard.press('p');
	return await until(async () => (await cell(page, first, LOSES)) === '77,777') ? page.troubles.join('; ') : 'it does not go on';
}

async function withoutStream(browser) {
	const page = await tab(browser);

	await page.clock.install();
	await page.route('**/running.events*', (r) => r.fulfill({ status: 429, body: 'no' }));
	await page.goto(`${cases.base}/running`);
	await page.waitForSelector('.live tbody tr');
	if (!await until(async () => (await state(page)).startsWith('no stream: asks each 30 s')))
		return `it says "${await state(page)}"`;
	const first = (await ids(page))[0];

	await changed(`UPDATE running SET losing_cores = 66666, full_at = NULL WHERE job_id = ${first}`);
	if ((await cell(page, first, LOSES)) === '66,666')
		return 'it asked at once';
	await page.clock.fastForward(31000);
	return await until(async () => (await cell(page, first, LOSES)) === '66,666') ? page.troubles.join('; ') : 'after 30 s it has not asked';
}

async function toRead(browser) {
	for (const [viewport, colours] of [[LAPTOP, 'light'], [LAPTOP, 'dark'], [PHONE, 'light']]) {
		const page = await tab(browser, viewport, colours);

		await page.goto(`${cases.base}/running`);
		await page.waitForSelector('.live tbody tr');
		await page.click('.live .open');
		await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
		await page.evaluate(axe);
		const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
		const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), texts = await crowded(page) || await wrongOnPaper(page);

		if (violations.length || wide > 0 || texts || page.troubles.length)
			return `${viewport.width} ${colours}: ${violations.map((v) => `${v.id} ${v.nodes[0].html.slice(0, 120)}`)} ${wide > 0 ? `wider by ${wide}` : ''} ${texts} ${page.troubles}`;
	}
	return '';
}

const browser = await launch();

for (const f of [asTheVerb, inPlace, keys, withoutStream, toRead])
	await tried(f.name, () => f(browser));
await browser.close();
