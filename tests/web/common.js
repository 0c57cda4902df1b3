// SPDX-License-Identifier: GPL-2.0-or-later
// What tests of pages in a browser share: lines of results, numbers that a page says, pages that are open offline.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const folder = process.argv[2]; // has the pages, and cases.json
export const cases = JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const LAPTOP = { width: 1366, height: 768 }, PHONE = { width: 390, height: 844 }, PAPER = { width: 688, height: 1017 }, WIDE = { width: 1031, height: 703 }; // A4 without its margins

function verdict(name, wrong) {
	console.log(wrong ? `not ok ${name}: ${String(wrong).replace(/\s+/g, ' ').slice(0, 400)}` : `ok ${name}`);
}

export async function tried(name, f) {
	try {
		verdict(name, await f());
	} catch (e) {
		verdict(name, e.stack);
	}
}

// Texts of axes that lie over each other, of bars and keys that are cut, of cells that touch; words and numbers that a line's end breaks; numbers with their bar through them.
export const crowded = (page) => page.evaluate(() => {
	const r = document.createRange(), gap = 5;
	const textOf = (e) => { r.selectNodeContents(e); return r.getBoundingClientRect(); };
	const seen = (s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.textContent.trim() && e.getBoundingClientRect().width > 0);
	const sameLine = (a, b) => a.bottom > b.top + 2 && b.bottom > a.top + 2, wrong = [];

	for (const s of ['.ax > span:not(.off, .now)', '.axis > span', '.iox > span', '.ioy > span', '.hx > span'])
		for (const [i, e] of seen(s).entries())
			for (const f of seen(s).slice(i + 1).filter((o) => o.parentElement === e.parentElement)) {
				const [a, b] = [e, f].map(textOf);

				if (sameLine(a, b) && a.right > b.left + 0.5 && b.right > a.left + 0.5)
					wrong.push(`${e.textContent} over ${f.textContent}`);
			}
	wrong.push(...seen('.sumbar span, .jobbar span').filter((e) => textOf(e).right > e.parentElement.getBoundingClientRect().right + 0.5 || e.scrollWidth > e.clientWidth + 1).map((e) => `cut: ${e.textContent}`));
	wrong.push(...seen('.flat .key tbody tr').filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `beyond its place: ${e.textContent}`));
	for (const row of [...document.querySelectorAll('.g tr, .mon tr')].filter((e) => e.checkVisibility())) {
		const cells = [...row.cells].filter((c) => c.checkVisibility() && c.textContent.trim()).map((c) => [c, textOf(c), c.getBoundingClientRect()]);

		for (const [i, [c, text, box]] of cells.entries()) {
			const next = cells[i + 1], bar = c.querySelector(':scope > .v')?.getBoundingClientRect();

			if (next && sameLine(text, next[1]) && next[1].left > text.left && Math.min(text.right, box.right) + gap > next[1].left)
				wrong.push(`"${c.textContent}" touches "${next[0].textContent}"`);
			if (bar?.width && c.firstChild.nodeType === 3 && (r.selectNode(c.firstChild), bar.top < r.getBoundingClientRect().bottom - 5))
				wrong.push(`a bar through "${c.textContent}"`);
		}
	}
	const texts = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT);

	while (texts.nextNode()) {
		const { data, parentElement: e } = texts.currentNode;

		if (!/^\S{2,}$/.test(data.trim()) || !e.closest('.g td, .g th, .mon td') || e.closest('bdi, code') || !e.checkVisibility())
			continue;
		r.selectNode(texts.currentNode);
		if (new Set([...r.getClientRects()].map((b) => Math.round(b.top))).size > 1)
			wrong.push(`broken: ${data}`);
	}
	return [...new Set(wrong)].slice(0, 4).join(', ');
});

// What is wrong with it on paper, where nobody can scroll: it is wider, or its texts are crowded.
export async function wrongOnPaper(page) {
	const before = page.viewportSize();

	await page.setViewportSize(PAPER);
	await page.emulateMedia({ media: 'print' });
	if (await page.evaluate(() => getComputedStyle(document.body).page) === 'wide')
		await page.setViewportSize(WIDE);
	await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
	const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), texts = await crowded(page);

	await page.evaluate(() => dispatchEvent(new Event('afterprint')));
	await page.emulateMedia({ media: null });
	await page.setViewportSize(before);
	return wider > 0 ? `wider than the paper by ${wider}` : texts && `on paper, ${texts}`;
}

// The number that a text says, in the unit of the JSON: MiB, s, J, or a share of 1.
const UNITS = { B: 1 / 1048576, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: 1048576, ms: 1e-3, '\u00b5s': 1e-6, ns: 1e-9, s: 1, '%': 0.01,
	J: 1, kJ: 1000, kWh: 3.6e6, MWh: 3.6e9, W: 1, kW: 1000, 'core-s': 1, 'core-h': 3600, cores: 1, cores_: 1, min: 60,
	k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, GHz: 1e9, 's/s': 1 };

function parse(signed) {
	if (signed.startsWith('\u2212'))
		return -parse(signed.slice(1));
	const text = signed.replace(/^\+/, '');
	const clock = /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d\d)$/.exec(text);

	if (clock)
		return ((+(clock[1] ?? 0) * 24 + +(clock[2] ?? 0)) * 60 + +clock[3]) * 60 + +clock[4];
	const m = /^([\d.,e+-]+)(?: (\S+?))?(?:\/s)?$/.exec(text);

	return m ? Number(m[1].replaceAll(',', '')) * (m[2] ? UNITS[m[2]] : 1) : NaN;
}

// Within half of the last digit that is shown; of three digits that is up to 0.6 %.
export function isNear(text, wanted, absolute = 0) {
	return Math.abs(parse(text) - wanted) <= 0.006 * Math.abs(wanted) + absolute;
}

export async function open(browser, name, more = {}) {
	const context = await browser.newContext({ viewport: LAPTOP, colorScheme: 'light', offline: true, ...more });
	const page = await context.newPage(), troubles = [];

	page.on('pageerror', (e) => troubles.push(e.stack));
	page.on('console', (m) => ['error', 'warning'].includes(m.type()) && troubles.push(m.text()));
	page.on('request', (r) => /^(file|data|blob):/.test(r.url()) || troubles.push(`asked for ${r.url()}`));
	await page.goto(`file://${join(folder, name)}.html${more.address ?? ''}`);
	await page.waitForFunction(() => document.querySelector('footer'), null, { timeout: 20000 });
	page.troubles = troubles;
	return page;
}

export const texts = (page, selector) => page.locator(selector).allInnerTexts();

// Every number that the case names is in its place.
export async function numbers(page, wanted) {
	for (const [selector, [value, absolute]] of Object.entries(wanted)) {
		const [text] = await texts(page, selector);

		if (text === undefined || !isNear(text.trim(), value, absolute))
			return `${selector} says ${text}, not ${value}`;
	}
	return '';
}

// What is wrong with an open page: it asked for something, lacks a section, is too wide, or says what no reader should see.
export async function whole(page, c) {
	const ids = await page.evaluate(() => [...document.querySelectorAll('section[id]')].map((s) => s.id));
	const lost = (c.sections ?? []).filter((s) => !ids.includes(s)), more = (c.without ?? []).filter((s) => ids.includes(s));
	const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
	const wrong = (await page.evaluate(() => document.body.innerText)).match(/.{0,20}(NaN|undefined|\[object|Infinity).{0,20}/);

	return page.troubles.join('; ') || (lost.length && `no ${lost}`) || (more.length && `there is ${more}`) || (wide && 'it is wider than the window') || (wrong && `it says ${wrong[0]}`);
}

// What axe-core finds that is serious.
export async function accessible(browser, name, viewport, colorScheme) {
	const page = await open(browser, name, { viewport, colorScheme });

	await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
	await page.waitForTimeout(100);
	await page.evaluate(axe);
	const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
	const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));

	return serious.map((v) => `${v.id}: ${v.nodes.slice(0, 2).map((n) => `${n.html.slice(0, 120)} ${n.any[0]?.message ?? ''}`).join(' | ')}`).join('; ');
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
