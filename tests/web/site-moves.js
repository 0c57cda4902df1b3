// SPDX-License-Identifier: GPL-2.0-or-later
// What a reader does on the pages of a site: each takes an open page and what browser.py wants of it, and returns '' or what is wrong.

import { PAPER } from './common.js';

const at = (page) => page.evaluate(() => decodeURIComponent(location.pathname + location.search));

// Types into the search box and presses Enter: where does that lead?
async function searched(page, { word, leads }) {
	await page.keyboard.press('/');
	await page.keyboard.type(word);
	await page.keyboard.press('Enter');
	await page.waitForFunction((to) => decodeURIComponent(location.pathname + location.search).startsWith(to) && document.querySelector('footer'), leads, { timeout: 10000 }).catch(() => {});
	const there = await at(page);

	return there.startsWith(leads) ? '' : `"${word}" leads to ${there}, not ${leads}`;
}

// j chooses the first row, Enter opens what it links to.
async function followed(page) {
	await page.keyboard.press('j');
	const [label, to] = await page.evaluate(() => { const a = document.querySelector('tr.on a'); return [a?.textContent, a && new URL(a.href).pathname + new URL(a.href).search]; });

	if (!to)
		return 'j chooses no row with a link';
	await page.keyboard.press('Enter');
	await page.waitForFunction((there) => location.pathname + location.search === there, to, { timeout: 10000 }).catch(() => {});
	const there = await page.evaluate(() => location.pathname + location.search);

	return there === to ? '' : `Enter on ${label} leads to ${there}, not ${to}`;
}

// Each j marks the next row below the chosen finding, where it is seen, and leaves the chosen one marked.
async function walked(page) {
	const look = () => page.evaluate(() => {
		const rows = [...document.querySelector('main table').tBodies[0].rows], on = rows.filter((r) => r.matches('.on')), box = on[0]?.getBoundingClientRect();
		const top = on[0] && document.elementFromPoint(box.left + 20, box.top + 4), low = on[0] && document.elementFromPoint(box.left + 20, box.bottom - 4);

		return { at: rows.indexOf(on[0]), marks: on.length, now: rows.findIndex((r) => r.matches('.now')), all: rows.length, seen: [top, low].every((e) => e?.closest('tr') === on[0]), shadow: on[0] && getComputedStyle(on[0].cells[0]).boxShadow };
	});
	const { now, all } = await look();

	for (let k = 1; k <= Math.min(all - 1 - now, 60); k++) {
		await page.keyboard.press('j');
		const is = await look();

		if (is.marks !== 1 || is.at !== now + k || is.now !== now || !is.seen || is.shadow === 'none')
			return `after ${k} presses of j: ${JSON.stringify(is)}`;
	}
	return now < 0 || all < now + 2 ? `${all} rows, ${now} is chosen` : '';
}

// The keys move the cursor of a node's lines by a step and by an hour, and say the values.
async function cursor(page) {
	const box = page.locator('.series'), pin = () => page.evaluate(() => jobprof.view.pin);

	await box.focus();
	await page.keyboard.press('ArrowLeft');
	const first = await pin();

	await page.keyboard.press('Shift+ArrowLeft');
	const hour = await pin(), spoken = await page.evaluate(() => document.querySelector('.sr[aria-live]').textContent), { step_s: step, lines } = await page.evaluate(() => jobprof.node);
	const i = Math.floor(hour / step), shown = await page.evaluate(() => document.querySelector('[data-value="cpu of jobs"]')?.textContent), wanted = lines.cpu_jobs_cores[i];

	if (Math.abs(first - hour - 3600) > 1e-6)
		return `Shift and Left move from ${first} to ${hour}`;
	if (!spoken.includes('CPU'))
		return `it says "${spoken}"`;
	if (wanted !== null && Math.abs(parseFloat(shown) - wanted) > 0.006 * wanted + 0.01)
		return `the cursor at step ${i} says ${shown}, not ${wanted}`;
	await page.keyboard.press('Escape');
	return Number.isNaN(await pin()) ? '' : 'Escape does not let the cursor go';
}

// The bars of a comparison are as long as the runs, on a telephone, too, and the axis is below them.
async function compared(page) {
	await page.setViewportSize({ width: 390, height: 844 });
	return page.evaluate(() => {
		const lines = [...document.querySelectorAll('.wl')], of = (e) => e.getBoundingClientRect(), box = of(lines[0].querySelector('.wb'));
		const ends = lines.filter((e) => e.matches('.end')).map((e) => of(e.querySelector('.run')).width / box.width), { a, b } = jobprof.compare, most = Math.max(a.wall_s, b.wall_s);
		const wanted = [a.wall_s / most, b.wall_s / most], axis = of(lines.at(-1).querySelector('.wb'));

		if (lines.length < 4 || ends.some((w, i) => Math.abs(w - wanted[i]) > 0.02))
			return `bars of ${ends} of the width, not ${wanted}`;
		return Math.abs(axis.left - box.left) + Math.abs(axis.width - box.width) < 1 ? '' : `the axis is ${axis.width} wide at ${axis.left}, the bars ${box.width} at ${box.left}`;
	});
}

// A filter of those that are seldom: its field is behind "more", on a telephone, too, and says how it is written.
async function seldom(page, { field, value, leads }) {
	await page.setViewportSize({ width: 390, height: 844 });
	await page.locator('.filters .fold').click();
	await page.locator('.dates > summary').click();
	const box = await page.locator(`.dates [name=${field}]`).boundingBox();

	if (box.width < 80 || box.x + box.width > 390)
		return `${field} is ${box.width} wide at ${box.x}`;
	await page.locator(`.dates [name=${field}]`).fill(value);
	await page.keyboard.press('Enter');
	await page.waitForFunction((to) => (location.pathname + location.search) === to && document.querySelector('footer'), leads, { timeout: 10000 }).catch(() => {});
	const there = await at(page);

	return there === leads ? '' : `${field} ${value} leads to ${there}`;
}

// On paper, even upright: no number of a table goes on in the next line.
async function printed(page) {
	await page.setViewportSize(PAPER);
	await page.emulateMedia({ media: 'print' });
	const { numbers, broken } = await page.evaluate(() => {
		const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), of = [], r = document.createRange();

		while (texts.nextNode())
			if (/^[\d,.:-]{2,}$/.test(texts.currentNode.data) && texts.currentNode.parentElement.closest('tbody td'))
				of.push(texts.currentNode);
		return { numbers: of.length, broken: of.filter((t) => { r.selectNode(t); return r.getClientRects().length > 1; }).slice(0, 3).map((t) => t.data) };
	});

	return numbers < 50 ? `only ${numbers} numbers` : broken.join(', ');
}

// The keys choose a cell of the map; it says what the JSON has, and Enter opens the node.
async function mapped(page) {
	await page.locator('.nodemap').focus();
	for (const key of ['2', 'ArrowDown', 'ArrowDown', ...Array(11).fill('ArrowLeft'), 'ArrowUp'])
		await page.keyboard.press(key);
	const { said, node, level, d } = await page.evaluate(() => {
		const { nodes: n } = jobprof, order = n.nodes.map((_, i) => i).sort((a, b) => n.nodes[a].kind - n.nodes[b].kind || a - b), i = order[0], bytes = n.heat.busy.bytes, at = n.steps - 12;

		return { said: document.querySelector('.tip').textContent, node: n.nodes[i].node, level: (typeof bytes === 'string' ? atob(bytes).charCodeAt(i * n.steps + at) : bytes[i * n.steps + at]), d: { levels: n.heat.levels, top: n.heat.busy.top, steps: n.steps, nodes: n.nodes.length } };
	});
	const text = said.replace(/\s+/g, ' '), busy = /cpu busy (no job|not known|down|[\d.]+ %)/.exec(text)?.[1];

	if (!text.startsWith(`${node} `))
		return `Down, Down, Up choose "${text}", not ${node}`;
	if (level <= d.levels ? Math.abs(parseFloat(busy) - 100 * level / d.levels * d.top) > 0.51 : /%/.test(busy))
		return `"${text}" of level ${level}`;
	await page.keyboard.press('Enter');
	await page.waitForURL(/\/node\?/, { timeout: 10000 }).catch(() => {});
	return (await at(page)).startsWith('/node?node=') ? '' : `Enter leads to ${await at(page)}`;
}

// From a list to a job of it, and by the job's page back to the list with its filters.
async function back(page, { job, address }) {
	await page.locator(`a:text-is("${job}")`).first().click();
	await page.waitForSelector('.way a', { timeout: 10000 }).catch(() => {});
	if (!(await at(page)).endsWith(`/job/${job}`))
		return `the first link of ${address} leads to ${await at(page)}`;
	await page.locator('.way a').first().click();
	await page.waitForFunction((to) => decodeURIComponent(location.pathname + location.search) === to && document.querySelector('footer'), address, { timeout: 10000 }).catch(() => {});
	return (await at(page)) === address ? '' : `back leads to ${await at(page)}`;
}

// A window of any width has the list whole: what has no room is left out, and the finding has some.
async function narrow(page) {
	const wrong = [];

	for (let width = 621; width < 1480; width += 53) {
		await page.setViewportSize({ width, height: 768 });
		await page.waitForTimeout(30);
		const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.querySelector('.vt thead th:last-child').clientWidth]);

		if (wide > width || room < 100)
			wrong.push(`${width}: the page has ${wide}, its findings ${room}`);
	}
	return wrong.join('; ');
}

export const MOVES = { back, narrow, searched, followed, walked, cursor, mapped, compared, printed, seldom };
