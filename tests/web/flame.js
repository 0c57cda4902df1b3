// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof flame --html`: node flame.js FOLDER, which tests/e2e/kernel/stack.py has filled. Prints a line
// per test.
import { LAPTOP, PHONE, accessible, cases, launch, open, tried, whole } from './common.js';

const HOSTILE = '<svg onload=alert(1)>;&';
const width = (page, text) => page.evaluate((t) => [...document.querySelectorAll('.fl')].find((e) => e.title.startsWith(t))?.getBoundingClientRect().width, text);

async function isHarmless(browser, c) {
	const page = await open(browser, c.name);
	const seen = await page.evaluate((name) => ({ svg: document.querySelectorAll('main svg, main img, main script').length,
		title: [...document.querySelectorAll('.fl')].some((e) => e.title.startsWith(name)) }), HOSTILE);

	return seen.svg || !seen.title ? JSON.stringify(seen) : page.troubles.join('; ');
}

async function zooms(browser, c) {
	const page = await open(browser, c.name), all = await width(page, 'all:'), had = await width(page, 'hot_9:');

	await page.locator('.fl[title^="hot_9:"]').click();
	const now = await width(page, 'hot_9:');

	await page.keyboard.press('Escape');
	const again = await width(page, 'hot_9:');

	return had < 0.4 * all && Math.abs(now - all) < 1 && Math.abs(again - had) < 1 ? '' : `${[all, had, now, again]}`;
}

async function finds(browser, c) {
	const page = await open(browser, c.name);

	await page.keyboard.press('/');
	await page.keyboard.type('HOT_9');
	const hits = await page.evaluate(() => [...document.querySelectorAll('.fl.hit')].map((e) => e.title.split(':')[0]));

	return hits.length && hits.every((h) => h === 'hot_9') ? '' : `found ${hits}`;
}

async function goesByKeys(browser, c) {
	const page = await open(browser, c.name), at = () => page.evaluate(() => document.activeElement.title.split(':')[0]);

	await page.locator('.fl').first().focus();
	const seen = [await at()];

	for (const key of ['ArrowDown', 'ArrowUp']) {
		await page.keyboard.press(key);
		seen.push(await at());
	}
	return seen[0] === 'all' && seen[1] && seen[1] !== 'all' && seen[2] === 'all' ? '' : `${seen}`;
}

async function choosesTime(browser, c) {
	const page = await open(browser, c.name), said = () => page.locator('[role=status]').innerText(), all = await said();

	await page.locator('.tools select').first().selectOption({ index: 1 });
	const part = await said();

	return all !== part && part.startsWith('all: ') ? '' : `${all}, then ${part}`;
}

const browser = await launch();

for (const c of cases) {
	await tried(`${c.name}: the page is whole and asks nothing of a network`, async () => whole(await open(browser, c.name), c));
	await tried(`${c.name}: a name is only a name`, () => isHarmless(browser, c));
	await tried(`${c.name}: a click zooms, Escape shows all`, () => zooms(browser, c));
	await tried(`${c.name}: a word finds functions`, () => finds(browser, c));
	await tried(`${c.name}: keys go from box to box`, () => goesByKeys(browser, c));
	if (c.intervals)
		await tried(`${c.name}: an interval can be chosen`, () => choosesTime(browser, c));
	for (const [viewport, scheme] of [[LAPTOP, 'light'], [PHONE, 'dark']])
		await tried(`${c.name}: accessible, ${scheme}`, () => accessible(browser, c.name, viewport, scheme));
}
await browser.close();
