// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof report --html` in a browser: node browser.js FOLDER, which tests/e2e/cli/page.py has
// filled with pages and with cases.json, what each of them must show. Prints a line per test.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAPTOP, PHONE, accessible, cases, folder, launch, numbers, open, tried, whole } from './common.js';
import { LOOKS, LOOKS_OF_LARGE } from './looks.js';

async function findingsAreThose(page, report) {
	const shown = await page.evaluate(() => [...document.querySelectorAll('.find li')].map((li) => li.textContent.replace(/\s+/g, ' ')));
	const flat = (t) => t.replace(/[\s.]+/g, '');

	if (shown.length !== report.findings.length)
		return `${shown.length} findings of ${report.findings.length}`;
	for (const [i, f] of report.findings.entries())
		if (!flat(shown[i]).includes(flat(f.text)) || !flat(shown[i]).includes(flat(f.remedy)))
			return `"${f.text}" is not in "${shown[i]}"`;
	return '';
}

async function checks(browser, c) {
	const report = JSON.parse(readFileSync(join(folder, `${c.name}.json`), 'utf8'));

	await tried(`${c.name}: the page is whole and asks nothing of a network`, async () => whole(await open(browser, c.name), c));
	await tried(`${c.name}: findings are those of --json`, async () => findingsAreThose(await open(browser, c.name), report));
	if (c.numbers)
		await tried(`${c.name}: numbers are those of the file`, async () => numbers(await open(browser, c.name), c.numbers));
}

async function zooms(browser) {
	const page = await open(browser, 'sick');
	const { findings } = JSON.parse(readFileSync(join(folder, 'sick.json'), 'utf8')), n = findings.findIndex((f) => f.times.length), [when] = findings[n].times;

	await page.locator('.find button').nth(n).click();
	const seen = await page.evaluate(() => ({ from: jobprof.view.from, to: jobprof.view.to, hash: location.hash, pressed: document.querySelectorAll('[aria-pressed=true].x, .find [aria-pressed=true]').length }));

	if (!(seen.from <= when[0] && seen.to >= when[1] && seen.to - seen.from <= 1.3 * (when[1] - when[0])) || seen.pressed !== 1)
		return `${JSON.stringify(seen)}, the finding is about ${when}`;
	const again = await open(browser, 'sick', { address: seen.hash });
	const same = await again.evaluate(() => [jobprof.view.from, jobprof.view.to, jobprof.view.finding]);

	if (Math.abs(same[0] - seen.from) > 1 || Math.abs(same[1] - seen.to) > 1 || same[2] !== n)
		return `the address ${seen.hash} gives ${same}`;
	await page.keyboard.press('Escape');
	if (!await page.evaluate(() => jobprof.view.isWhole))
		return 'esc does not show the whole job';
	return page.troubles.join('; ');
}

// A lane has a dash for each of a finding's times, and each click on it zooms to the next one.
async function steps(browser) {
	const page = await open(browser, 'stops'), { findings } = JSON.parse(readFileSync(join(folder, 'stops.json'), 'utf8'));
	const n = findings.findIndex((f) => f.times.length > 1), { times } = findings[n], lane = page.locator(`[data-lane="${n}"]`);
	const drawn = () => lane.evaluate((e) => [...e.querySelectorAll('i')].map((i) => { const [a, b] = [i.getBoundingClientRect(), e.getBoundingClientRect()]; return a.width && [a.left, a.right].map((x) => (x - b.left) / b.width); }));
	const end = await page.evaluate(() => jobprof.view.end), dashes = await drawn();

	if (JSON.stringify(dashes.map((d) => d.map((x) => Math.round(x * 100)))) !== JSON.stringify(times.map((t) => t.map((x) => Math.round(x / end * 100)))))
		return `dashes at ${JSON.stringify(dashes)}, not ${JSON.stringify(times)}`;
	for (const [i, [from, to]] of times.entries()) {
		await lane.click();
		const seen = await page.evaluate(() => [jobprof.view.from, jobprof.view.to, jobprof.view.finding]), shown = (await drawn()).filter(Boolean).length;

		if (seen[0] > from || seen[1] < to || seen[1] - seen[0] > 1.3 * (to - from) || seen[2] !== n || shown !== 1)
			return `click ${i + 1} shows ${seen} and ${shown} dashes, not ${from} to ${to}`;
	}
	await lane.click();
	if (!await page.evaluate(() => jobprof.view.isWhole && jobprof.view.finding < 0))
		return 'a click after the last time does not show the whole job';
	return page.troubles.join('; ');
}

async function drags(browser) {
	const page = await open(browser, 'sick'), box = await page.locator('#time .row .plot').first().boundingBox();
	const at = (k) => box.x + k * box.width, y = box.y + box.height / 2;

	await page.mouse.move(at(0.25), y);
	await page.mouse.down();
	await page.mouse.move(at(0.75), y, { steps: 4 });
	await page.mouse.up();
	const [from, to, end] = await page.evaluate(() => [jobprof.view.from, jobprof.view.to, jobprof.view.end]);

	if (Math.abs(from / end - 0.25) > 0.02 || Math.abs(to / end - 0.75) > 0.02)
		return `a drag over the middle half shows ${from} to ${to} of ${end}`;
	await page.keyboard.press('Escape');
	await page.locator('#heat .plot').scrollIntoViewIfNeeded();
	const map = await page.locator('#heat .plot').boundingBox();

	await page.mouse.click(map.x + map.width / 2, map.y + 5);
	if (await page.evaluate(() => jobprof.view.row) !== 0)
		return 'a click on the first row does not choose it';
	await page.keyboard.press('Escape');
	await page.locator('#heat .plot').focus();
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp', 'ArrowDown'])
		await page.keyboard.press(key);
	const [row, said] = await page.evaluate(() => [jobprof.view.row, document.querySelector('[aria-live]').textContent]);

	return row === 1 && /^task 1\. /.test(said) ? page.troubles.join('; ') : `Up and Down choose row ${row} and say "${said}"`;
}

// The pixels of the first line's canvas: its median is where the data say.
async function draws(browser) {
	const page = await open(browser, 'sick');

	return page.evaluate(() => {
		const canvas = document.querySelector('#time .row canvas'), g = canvas.getContext('2d');
		const { data, width, height } = g.getImageData(0, 0, canvas.width, canvas.height);
		const line = jobprof.report.page.lines.of.find((l) => l.key === 'cpu'), top = document.querySelector('#time .y.hi').textContent;
		const x = Math.floor(width / 2), i = Math.floor(line.median.length / 2);
		let y = -1;

		for (let k = 0; k < height && y < 0; k++)
			if (data[(k * width + x) * 4 + 3] > 200 && data[(k * width + x) * 4] < 90)
				y = k;
		const wanted = height * (1 - line.median[i] / parseFloat(top));

		return y >= 0 && Math.abs(y - wanted) <= 0.06 * height + 2 ? '' : `the median is at ${y}, not ${wanted} of ${height}`;
	});
}

async function stays(browser) {
	const page = await open(browser, 'hostile');
	const seen = await page.evaluate(() => ({ hacked: 'hacked' in window, elements: document.querySelectorAll('main img, main svg, main script, header img, header b i').length,
		strange: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText), markup: document.body.innerText.includes('<img src=x'),
		scripts: document.scripts.length, h1: document.querySelector('h1').clientHeight, wide: document.documentElement.scrollWidth > innerWidth }));

	if (seen.hacked || seen.elements || seen.strange || !seen.markup || seen.scripts !== 2 || seen.h1 > 60 || seen.wide)
		return JSON.stringify(seen);
	return page.troubles.join('; ');
}

// A script that came in nonetheless would not run.
async function refuses(browser) {
	const page = await open(browser, 'sick');
	const ran = await page.evaluate(() => {
		const s = document.createElement('script'), d = document.createElement('div');

		s.textContent = 'window.ran = 1';
		document.body.append(s);
		d.innerHTML = '<img src="x" onerror="window.ran = 2">';
		document.body.append(d);
		return new Promise((done) => setTimeout(() => done(window.ran ?? 0), 300));
	});
	const policy = await page.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content');

	return ran ? 'an inline script ran' : /unsafe|https?:|\*/.test(policy) || !policy.startsWith("default-src 'none'") ? policy : '';
}

async function firstScreen(browser) {
	const page = await open(browser, 'sick');
	const end = await page.evaluate(() => document.querySelector('#time .ax').getBoundingClientRect().bottom);

	return end <= LAPTOP.height ? '' : `the axis of time ends at ${end}`;
}

const median = (v) => [...v].sort((a, b) => a - b)[v.length >> 1];

const painted = (page) => page.evaluate(async () => {
	for (let k = 0; k < 100 && !performance.getEntriesByName('first-contentful-paint').length; k++)
		await new Promise((done) => setTimeout(done, 50));
	return performance.getEntriesByName('first-contentful-paint')[0].startTime;
});

// A second and 0.2 s on a machine that paints a small page in half a second; machines are shared, and some slower.
async function isQuick(browser) {
	const paints = [], small = [];
	let zoom = Infinity;

	for (let i = 0; i < 3; i++) {
		const other = await open(browser, 'short'), page = await open(browser, 'large');

		small.push(await painted(other));
		await other.context().close();
		paints.push(await painted(page));
		for (let k = 0; k < 5; k++)
			zoom = Math.min(zoom, await page.evaluate(async (from) => {
				const began = performance.now();

				jobprof.view.zoom(from, jobprof.view.end / 2);
				await new Promise((done) => requestAnimationFrame(done));
				return performance.now() - began;
			}, 100 * (k + 1)));
		await page.context().close();
	}
	const slower = Math.max(1, median(small) / 500);

	console.log(`# 1,000 nodes: first paint ${paints.map((p) => p.toFixed(0)).join(', ')} ms, of a small page ${median(small).toFixed(0)} ms, zoom ${zoom.toFixed(0)} ms`);
	return median(paints) < 1000 * slower && zoom < 200 * slower ? '' : `first paint ${median(paints)} ms, zoom ${zoom} ms`;
}

const browser = await launch();

for (const c of cases)
	await checks(browser, c);
await tried('a finding zooms to its time, and the address keeps it', () => zooms(browser));
await tried('each click on a lane zooms to the next time of its finding', () => steps(browser));
await tried('a drag zooms, a click on a row chooses it', () => drags(browser));
await tried('a line is drawn where its values are', () => draws(browser));
await tried('hostile names stay text', () => stays(browser));
await tried('the policy lets no other script run', () => refuses(browser));
for (const [what, look] of cases.some((c) => c.name === 'large') ? [...LOOKS, ...LOOKS_OF_LARGE] : LOOKS)
	await tried(what, () => look(browser));
await tried('all to the axis of time is on the first screen of a laptop', () => firstScreen(browser));
for (const [what, viewport, scheme] of [['light', LAPTOP, 'light'], ['dark', LAPTOP, 'dark'], ['on a phone', PHONE, 'light']])
	await tried(`axe-core finds nothing serious, ${what}`, () => accessible(browser, 'sick', viewport, scheme));
await tried('on a phone nothing is wider than the screen', async () => {
	const wide = [];

	for (const { name } of cases.filter((c) => c.name !== 'large')) {
		const page = await open(browser, name, { viewport: PHONE });

		if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
			wide.push(name);
		await page.close();
	}
	return wide.join(', ');
});
if (cases.some((c) => c.name === 'large'))
	await tried('1,000 nodes for a day are painted in a second, and zoomed in 0.2 s', () => isQuick(browser));
for (const name of ['sick', 'hostile'])
	writeFileSync(join(folder, `${name}.pdf`), await (await open(browser, name)).pdf({ format: 'A4' }));
await browser.close();
