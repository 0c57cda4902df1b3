// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of usage, findings, I/O and digest of a server: node overview.js ADDRESS [looks]. What a bar, a row or a cell says is what the page
// behind it finds, and the JSON of each page is in its table. Prints a line per test.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const base = process.argv[2], axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = ['usage?since=all', 'usage?since=all&by=name&cpu-share=40-45', 'findings?since=all', 'io?since=all', 'advice', 'issues?since=all', 'digest?since=2026-10-20&until=2026-10-27', 'usage?since=2020-01-01&until=2020-01-02', 'findings?since=2020-01-01&until=2020-01-02', 'io?since=2020-01-01&until=2020-01-02'];

async function tried(name, f) {
	const wrong = await Promise.resolve().then(f).catch((e) => e.stack);

	console.log(wrong ? `not ok ${name}: ${String(wrong).replace(/\s+/g, ' ').slice(0, 500)}` : `ok ${name}`);
}

async function open(browser, address, more = {}) {
	const context = await browser.newContext({ viewport: { width: 1366, height: 768 }, ...more }), page = await context.newPage();

	page.troubles = [];
	page.on('pageerror', (e) => page.troubles.push(e.stack));
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && page.troubles.push(m.text()));
	await page.goto(`${base}/${address}`);
	await page.waitForSelector('footer');
	return page;
}

const number = (text) => Number(/([\d,.]+)/.exec(text)[1].replaceAll(',', ''));
// How many jobs the heading of a page of jobs, or of usage, says there are.
const jobsSaid = async (page) => number(await page.locator('header .about b').first().innerText());

// A click on a link, and the page that it leads to.
async function follow(page, link) {
	await Promise.all([page.waitForURL(/./, { waitUntil: 'load' }), link.click()]);
	await page.waitForSelector('footer');
}

async function bars(browser) {
	const wrong = [];

	for (const [at, option] of [[0, 'cpu-share'], [1, 'memory-share'], [2, 'limit-share']]) {
		const page = await open(browser, 'usage?since=all'), links = page.locator('.hs').nth(at).locator('a');
		const said = (await links.evaluateAll((all) => all.map((a) => a.getAttribute('aria-label')))).map((t) => number(/: ([\d,]+) job/.exec(t)[1]));
		const highest = said.indexOf(Math.max(...said));

		if (said.length !== 20)
			wrong.push(`${said.length} bars`);
		await page.goto(new URL(await links.nth(highest).getAttribute('href'), page.url()).href);
		await page.waitForSelector('footer');
		const chosen = await page.locator('.hs').nth(at).locator('[aria-current]').count();

		if (await jobsSaid(page) !== said[highest] || chosen !== 1 || !page.url().includes(`${option}=`))
			wrong.push(`${option}: ${await jobsSaid(page)} jobs of ${said[highest]}, ${chosen} bars chosen`);
		wrong.push(...page.troubles);
		await page.context().close();
	}
	return wrong.join('; ');
}

async function downAndUp(browser) {
	const page = await open(browser, 'usage?since=all'), row = page.locator('tbody tr').first(), n = number(await row.locator('td').first().innerText());

	await follow(page, row.locator('a').first());
	const below = [await jobsSaid(page), new URL(page.url()).searchParams.get('by')];

	await Promise.all([page.waitForNavigation(), page.keyboard.press('u')]);
	await page.waitForSelector('footer');
	const up = new URL(page.url()).searchParams;

	return below[0] === n && below[1] === 'user' && up.get('by') === 'project' && !up.has('project') ? page.troubles.join('; ') : `${n} jobs, then ${below}, then ${up}`;
}

// Each rule with its jobs, as the JSON has them; the one that is opened, and its users.
async function findings(browser) {
	const page = await open(browser, 'findings?since=all&finding=cpu.unused'), d = await (await fetch(`${base}/findings.json?since=all&finding=cpu.unused`)).json();
	const rows = await page.locator('.md > :first-child tbody tr').evaluateAll((all) => all.map((r) => [r.querySelector('a').title, Number(r.cells[1].textContent.replaceAll(',', '')), Number(r.cells[2].textContent)]));
	const users = await page.locator('#who tbody tr:not(.detail)').count(), on = await page.locator('.md > :first-child tr.now a').getAttribute('title'), said = await page.locator('.detail').innerText();
	const first = d.users.find((u) => u.contacted_at === null);

	if (JSON.stringify(rows) !== JSON.stringify(d.rows.map((r) => [r.rule, r.jobs, r.users])))
		return `rows ${JSON.stringify(rows.slice(0, 3))}`;
	if (on !== 'cpu.unused' || users !== d.users.length || !said.includes(`jobprof contacted ${first.signature} --finding cpu.unused`))
		return `${on} is open, ${users} users of ${d.users.length}: ${said}`;
	const second = page.locator('#who .opens').nth(1);

	await second.click();
	if (await page.locator('.detail').count() !== 1 || await second.getAttribute('aria-expanded') !== 'true')
		return 'a second row does not open';
	return page.troubles.join('; ');
}

async function cells(browser) {
	const page = await open(browser, 'io?since=all'), d = await (await fetch(`${base}/io.json?since=all`)).json(), planes = page.locator('.pl');
	const counts = await Promise.all([0, 1].map((i) => planes.nth(i).locator('a').count()));

	if (String(counts) !== String([d.planes.read.length, d.planes.written.length]))
		return `${counts} cells`;
	const most = await planes.nth(1).locator('a').evaluateAll((all) => { const n = all.map((a) => Number(/([\d,]+) jobs?$/.exec(a.title)[1].replaceAll(',', ''))); return [n.indexOf(Math.max(...n)), Math.max(...n)]; });

	await page.goto(new URL(await planes.nth(1).locator('a').nth(most[0]).getAttribute('href'), page.url()).href);
	await page.waitForSelector('footer');
	if (await jobsSaid(page) !== most[1])
		return `${await jobsSaid(page)} jobs of a cell of ${most[1]}`;
	await page.goBack();
	await page.waitForSelector('footer');
	await planes.first().locator('a').first().focus();
	const before = await page.evaluate(() => document.activeElement.title);

	for (const key of ['ArrowRight', 'ArrowUp'])
		await page.keyboard.press(key);
	const after = await page.evaluate(() => [document.activeElement.title, document.querySelectorAll('.pl')[0].querySelectorAll('[tabindex="0"]').length]);

	return after[0] !== before && after[1] === 1 ? page.troubles.join('; ') : `keys: ${before}, ${after}`;
}

// Whom to write to: the jobs behind the link are as many as the line says.
async function digest(browser) {
	const page = await open(browser, 'digest?since=2026-10-20&until=2026-10-27'), d = await page.evaluate(() => window.jobprof.digest), link = page.locator('.ask a').first();

	await follow(page, link);
	return await jobsSaid(page) === d.ask[0].jobs ? page.troubles.join('; ') : `${await jobsSaid(page)} jobs of ${d.ask[0].jobs}`;
}

async function looks(browser, address, more) {
	const page = await open(browser, address, { bypassCSP: true, ...more });
	const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), bad = (await page.evaluate(() => document.body.innerText)).match(/.{0,20}(NaN (%|core|k|h\b)|undefined|\[object|Infinity).{0,20}/);

	await page.evaluate(axe);
	const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] })), troubles = page.troubles.join('; ');

	await page.context().close();
	return troubles || (wide && 'it is wider than the window') || (bad && `it says ${bad[0]}`) || violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 150)}`).join('; ');
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

if (process.argv[3] !== 'looks') {
	await tried('usage: a bar leads to its jobs', () => bars(browser));
	await tried('usage: a row leads down, and u up', () => downAndUp(browser));
	await tried('findings: rules and users', () => findings(browser));
	await tried('I/O: a cell leads to its jobs, by keys too', () => cells(browser));
	await tried('digest: whom to write to leads to their jobs', () => digest(browser));
}
for (const address of process.argv[3] === 'looks' ? PAGES : []) {
	await tried(`${address}: light`, () => looks(browser, address, {}));
	await tried(`${address}: dark, on a phone`, () => looks(browser, address, { colorScheme: 'dark', viewport: { width: 390, height: 844 } }));
}
await browser.close();
