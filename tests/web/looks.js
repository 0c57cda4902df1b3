// SPDX-License-Identifier: GPL-2.0-or-later
// What a reader sees of the page of report: texts that are whole, apart and true, and lines at their places. Each is a
// test of browser.js: its name, and what is wrong, "" if nothing.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAPTOP, PHONE, folder, open, texts } from './common.js';

const told = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));

// Pairs of the elements that are seen and lie over each other.
const overlaps = (page, selector) => page.evaluate((s) => {
	const seen = [...document.querySelectorAll(s)].filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0);

	return seen.flatMap((e, i) => seen.slice(i + 1).filter((f) => {
		const [a, b] = [e, f].map((x) => x.getBoundingClientRect());

		return a.right > b.left + 0.5 && b.right > a.left + 0.5 && a.bottom > b.top + 1 && b.bottom > a.top + 1;
	}).map((f) => `${e.textContent} | ${f.textContent}`)).join(', ');
}, selector);

// Zoomed to a part of a second, and with the pointer over the last tick.
async function labelsOfTime(browser) {
	const page = await open(browser, 'short'), seen = () => page.locator('#time .ax span:not([hidden])').filter({ visible: true }).allInnerTexts();
	const box = await page.locator('#time .row .plot').first().boundingBox();

	for (const at of [0.02, 0.5, 0.93, 0.985]) {
		await page.mouse.move(box.x + at * box.width, box.y + 10);
		const wrong = await overlaps(page, '#time .ax span'), [when] = await texts(page, '#time .when'), [now] = await texts(page, '#time .now');

		if (wrong || when !== `mean of 1 s, at ${now}` || Math.abs(parseFloat(now) - at * 17.4) > 0.06)
			return `at ${at * 17.4} s: ${when}, ${now}; ${wrong}`;
	}
	await page.mouse.move(5, 5);
	await page.evaluate(() => jobprof.view.zoom(10.9, 11.6));
	const zoomed = await seen(), [when] = await texts(page, '#time .when');

	return new Set(zoomed).size === zoomed.length && zoomed.length > 4 && when === 'means of 1 s, 10.90 s to 11.60 s' ? page.troubles.join('; ') : `${zoomed}; ${when}`;
}

// The bottom of the plot of what was never read or written, at a pixel ratio of 1.
async function zeroIsDrawn(browser) {
	const page = await open(browser, 'short', { deviceScaleFactor: 1 });

	return page.evaluate(() => {
		const canvas = document.querySelector('[data-value="io highest"]').closest('.row').querySelector('canvas'), { width, height } = canvas;
		const { data } = canvas.getContext('2d').getImageData(0, 0, width, height), dark = (x, y) => data[4 * (y * width + x) + 3] > 128 && data[4 * (y * width + x)] < 90;
		const columns = Array.from({ length: width }, (_, x) => x).filter((x) => [1, 2, 3, 4].some((up) => dark(x, height - up)));

		return columns.length > 0.98 * width ? '' : `${columns.length} of ${width} columns have the line`;
	});
}

// Cell k begins where the axis has k seconds, though the last cell is 0.4 s.
async function cellsAreInTime(browser) {
	const page = await open(browser, 'short');

	for (const [from, to] of [[0, 17.4], [3.3, 17.4], [15.2, 17.3]]) {
		const wrong = await page.evaluate(([a, b]) => {
			jobprof.view.set({ from: a, to: b });
			const c = document.querySelector('#heat .heat'), plot = c.parentElement.getBoundingClientRect(), box = c.getBoundingClientRect(), first = Math.floor(a);

			for (let k = 0; k < c.width; k++) {
				const seen = (box.left + k / c.width * box.width - plot.left) / plot.width * (b - a) + a;

				if (Math.abs(seen - first - k) > 0.02)
					return `cell ${first + k} begins at ${seen} s of ${a} to ${b}`;
			}
			return getComputedStyle(c.parentElement).overflow === 'hidden' ? '' : 'the last cell goes beyond the axis';
		}, [from, to]);

		if (wrong)
			return wrong;
	}
	return '';
}

// Texts in the bar are whole, at any width: all of it, else the number, else none.
async function barTexts(browser, name) {
	for (const width of [1366, 1000, 640, 390, 320]) {
		const page = await open(browser, name, { viewport: { width, height: 768 } });
		const wrong = await page.evaluate(() => [...document.querySelectorAll('.jobbar i')].map((i) => {
			const shown = [...i.children].filter((s) => s.getBoundingClientRect().width > 0), cut = shown.filter((s) => s.scrollWidth > s.clientWidth || s.getBoundingClientRect().right > i.getBoundingClientRect().right + 0.5);

			return shown.length > 1 || cut.length || (!shown.length && i.clientWidth > 60) ? `${shown.map((s) => s.textContent)} in ${i.clientWidth} pixels` : '';
		}).filter(Boolean).join(', '));

		await page.context().close();
		if (wrong)
			return `${width} wide: ${wrong}`;
	}
	return '';
}

async function followsATask(browser) {
	const page = await open(browser, 'sick'), box = await page.locator('#went .strip').boundingBox();

	await page.mouse.click(box.x + 20, box.y + 3);
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp'])
		await page.keyboard.press(key);
	const row = await page.evaluate(() => jobprof.view.row);

	return row === 1 ? page.troubles.join('; ') : `row ${row}`;
}

// As many of 100 as the histogram says are below its mark, by its buckets.
async function marksAreTrue(browser) {
	const page = await open(browser, 'sick'), wrong = await page.evaluate(() => {
		const counts = jobprof.report.page.run_latency, all = counts.reduce((a, n) => a + n, 0), { innerText } = document.querySelector('#run-latency .hist');
		const places = [...document.querySelectorAll('#run-latency .p')].map((p) => parseFloat(p.style.left) / 100), known = counts.map((n, k) => (n > 0 ? k : -1)).filter((k) => k >= 0);
		const first = Math.max(0, known[0] - 2), last = Math.max(Math.min(counts.length - 1, known.at(-1) + 2), first + 9);
		const below = places.map((p) => counts.slice(0, Math.round(first + p * (last - first + 1))).reduce((a, n) => a + n, 0) / all);

		return /half below/.test(innerText) && /99 of 100 below/.test(innerText) && !/above/.test(innerText) && below[0] >= 0.5 && below[1] >= 0.99 ? '' : `${innerText}: ${below}`;
	});

	return wrong;
}

async function onAPhone(browser) {
	for (const name of ['sick', 'short']) {
		const page = await open(browser, name, { viewport: PHONE });
		const wrong = await overlaps(page, '.hx span'), few = await page.locator('#run-latency .hx span').evaluateAll((all) => all.filter((s) => s.clientWidth > 0).length);
		const lost = await page.evaluate(() => [...document.querySelectorAll('#time .row .plot')].filter((p) => {
			const box = p.getBoundingClientRect();

			return [...p.querySelectorAll('.y')].filter((y) => y.checkVisibility() && y.getBoundingClientRect().left >= box.left && y.getBoundingClientRect().right < box.right).length !== 2;
		}).length);

		if (wrong || few < 2 || lost)
			return `${name}: ${wrong}; ${few} ticks; ${lost} plots have no ends of their axis`;
	}
	return '';
}

async function onPaper(browser) {
	const page = await open(browser, 'sick');

	await page.emulateMedia({ media: 'print' });
	const seen = await page.evaluate(() => Object.fromEntries(['footer', '.side p', '#time .y.hi', '#time .y.lo', '.screen', '.keys'].map((s) => [s, document.querySelector(s).checkVisibility()])));

	return seen.footer && seen['.side p'] && seen['#time .y.hi'] && seen['#time .y.lo'] && !seen['.screen'] && !seen['.keys'] ? '' : JSON.stringify(seen);
}

async function hints(browser) {
	const pages = await Promise.all(['sick', 'short', 'healthy'].map(async (name) => [name, await open(browser, name)]));

	for (const [name, page] of pages) {
		const [keys] = await texts(page, '.keys');

		if (keys.includes('finding') !== told(name).findings.length > 0)
			return `${name}, ${told(name).findings.length} findings: ${keys}`;
	}
	const [of] = await texts(pages[0][1], '#spread .head .soft');

	return of === '16 tasks' ? '' : of;
}

async function samples(browser) {
	const [of] = await texts(await open(browser, 'large'), '#spread .head .soft'), [q] = JSON.parse(await (await open(browser, 'large')).evaluate(() => JSON.stringify(jobprof.report.page.spread.quantities)));

	return q.sample.length < q.units && of.includes(`; ${q.sample.length} of them are drawn as ticks`) ? '' : of;
}

// What is said of rows that are groups of nodes has room, and no key is named where there are none.
async function groupsFit(browser) {
	const seen = async (viewport) => (await open(browser, 'large', { viewport })).evaluate(() => {
		const beyond = [...document.querySelectorAll('.side td, .side p')].filter((e) => e.getBoundingClientRect().right > document.querySelector('main').getBoundingClientRect().right + 0.5);

		return { beyond: beyond.map((e) => e.textContent), names: [...document.querySelectorAll('.names span')].map((e) => e.textContent), keys: [...document.querySelectorAll('.keyed')].some((e) => e.checkVisibility()) };
	});
	const wide = await seen(LAPTOP), phone = await seen(PHONE), names = ['n1', 'n1000'];

	return JSON.stringify([wide, phone]) === JSON.stringify([true, false].map((keys) => ({ beyond: [], names: [...names, ...names], keys }))) ? '' : JSON.stringify([wide, phone]);
}

export const LOOKS = [
	['labels of time differ, none covers another, and values say of when they are', labelsOfTime],
	['a line at 0 is seen', zeroIsDrawn],
	['cells of the map begin at their time', cellsAreInTime],
	['texts in the bar of the job are whole', (browser) => barTexts(browser, 'sick')],
	['texts in the bar of a short job are whole', (browser) => barTexts(browser, 'short')],
	['Up and Down follow a task that was clicked in the bars', followsATask],
	['half and 99 of 100 are below the marks of a histogram', marksAreTrue],
	['on a phone bounds are apart, and plots have the ends of their axes', onAPhone],
	['on paper plots have the ends of their axes; the footer and the note are there', onPaper],
	['hints are those that the page can do', hints],
];
// Truth: Intl, of the browser, at the instant where the tick is. The run is of a day.
async function daysOfTicks(browser) {
	const page = await open(browser, 'large', { timezoneId: 'Asia/Tokyo' });
	const ticks = await page.evaluate(() => {
		const line = document.querySelector('#time .ax'), { start } = jobprof.report.job, { end } = jobprof.view;
		const said = (at, options) => new Intl.DateTimeFormat('en', { timeZone: 'Asia/Tokyo', hourCycle: 'h23', ...options }).format(1000 * at);

		return [...line.children].filter((e) => e.className !== 'now').map((e) => {
			const at = Math.round((start + parseFloat(e.style.left) / 100 * end) / 60) * 60, hours = said(at, { hour: '2-digit', minute: '2-digit' }), day = said(at, { month: 'short', day: 'numeric' });

			return [e.textContent, e.className ? `${day} ${hours}` : hours === '00:00' ? day : hours];
		});
	});
	const wrong = ticks.filter(([text, wanted]) => text !== wanted);

	return wrong.length || ticks.length < 5 || ticks.filter(([text]) => /^[A-Z][a-z]+ \d+$/.test(text)).length !== 1 ? JSON.stringify(ticks) : '';
}

export const LOOKS_OF_LARGE = [['of a run of a day each tick has its time of day, at midnight the day', daysOfTicks], ['ticks that stand for more are said to', samples], ['legends of groups of nodes are inside, their names are whole, and a phone has no keys', groupsFit]];
