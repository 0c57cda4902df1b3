// SPDX-License-Identifier: GPL-2.0-only
// Where the time went: a bar of the job, a row per task or node on the same scale, and the numbers.
import { canvas, colour, el, fits, name, section, soft, table, widthOf } from './dom.js';
import { cores, count, plural, share, time } from './format.js';
import { onArrows } from './pointer.js';
import { statesOf } from './states.js';

const LABELS = 14; // names beside rows, at most
const SIDE = 5; // pixels beside a text in a bar

function jobBar(shares, states) {
	const text = shares.map((s) => `${s.name} ${share(s.share)}`).join(', ');
	const bar = el('div', { class: 'jobbar', role: 'img', 'aria-label': `The job: ${text}` });

	shares.forEach((s, i) => {
		const texts = [`${s.name} ${share(s.share)}`, share(s.share)], [all, short] = texts.map((t) => widthOf(t) + 2 * SIDE);
		const part = el('i', {}, fits(el('span', {}, texts[0]), all), fits(el('span', {}, texts[1]), short, all));

		part.style.width = `${100 * s.share}%`;
		part.classList.add(`b${states[i].colour.slice(3)}`);
		bar.append(part);
	});
	return bar;
}

// Rows in groups of a node, with a gap between groups where there is room.
export function layout(rows, height, gap) {
	const groups = [];

	for (let i = 0; i < rows.n; i++)
		if (i && rows.of !== 'node' && rows.node[i] === rows.node[i - 1])
			groups.at(-1).n++;
		else
			groups.push({ first: i, n: 1 });
	const isGrouped = rows.of !== 'node' && groups.length > 1 && groups.length <= LABELS;
	const space = isGrouped ? gap : 0, each = (height - space * (isGrouped ? groups.length - 1 : 0)) / rows.n;
	let y = 0;
	const at = [];

	for (const g of groups) {
		g.y = y;
		for (let i = 0; i < g.n; i++)
			at[g.first + i] = y + i * each;
		y += g.n * each;
		g.end = y;
		y += space;
	}
	return { groups: isGrouped ? groups : [], at, each, row: (v) => at.findLastIndex((top) => v >= top && v < top + each) };
}

// Names beside rows: nodes where tasks are grouped, else the rows' own as far as there is room.
export function labels(rows, lay, height) {
	const box = el('div', { class: 'names', 'aria-hidden': 'true' });
	const put = (y, text) => {
		const s = el('span', {}, name(text, 12));

		s.style.top = `${100 * y / height}%`;
		box.append(s);
	};

	if (lay.groups.length)
		for (const g of lay.groups)
			put((g.y + g.end) / 2, rows.node[g.first]);
	else if (rows.n <= LABELS)
		rows.name.forEach((n, i) => put(lay.at[i] + lay.each / 2, n));
	else
		for (const i of [0, rows.n - 1])
			put(lay.at[i] + (i ? lay.each - 6 : 6), rows.name[i]);
	return box;
}

function strip(rows, states, view, chosen, pick, height) {
	const lay = layout(rows, height, 4);
	const c = canvas(`A bar per ${rows.of}, with the states and the order of the bar of the job`, (g, w, h) => {
		const hot = chosen(), k = h / height;

		for (let i = 0; i < rows.n; i++) {
			const top = Math.round(lay.at[i] * k), bottom = Math.round((lay.at[i] + lay.each) * k);
			let x = 0;

			g.globalAlpha = hot && !hot.has(i) ? 0.3 : 1;
			states.forEach((s, n) => {
				const v = (rows.shares[n][i] ?? 0) * w;

				g.fillStyle = colour(s.colour);
				g.fillRect(x, top, v, Math.max(1, bottom - top - (lay.each > 6 ? 1 : 0)));
				x += v;
			});
		}
	}, { title: `Click a ${rows.of} to follow it` });
	const box = el('div', { class: 'strip' }, c);

	c.style.height = `${height}px`;
	onArrows(box, rows, view, pick);
	c.addEventListener('click', (e) => {
		const row = lay.row(e.offsetY * height / c.clientHeight);

		if (row >= 0)
			pick(row);
	});
	view.onShow(() => c.redraw());
	return [labels(rows, lay, height), box];
}

function key(shares, states, all) {
	return el('table', { class: 'key' },
		el('thead', {}, el('tr', {}, el('th', {}, el('span', { class: 'sr' }, 'state')), el('th', { scope: 'col' }, '%'),
			el('th', { scope: 'col' }, all >= 3600 ? 'core-h' : 'core-s'))),
		el('tbody', {}, shares.map((s, i) => el('tr', { title: states[i].about },
			el('th', { scope: 'row' }, el('span', { class: `sw b${states[i].colour.slice(3)}` }), s.name),
			el('td', { 'data-share': s.name }, (100 * s.share).toFixed(1)),
			el('td', { class: 'soft' }, hours(s.share * all, all))))));
}

function hours(v, all) {
	const n = all >= 3600 ? v / 3600 : v;

	return n < 99.95 ? n.toFixed(1) : count(n);
}

function behind(rows, states) {
	return table(`Table: each ${rows.group > 1 ? 'group of nodes' : rows.of}`, [rows.of, ...states.map((s) => `${s.name} %`)],
		() => rows.name.map((n, i) => [el('span', {}, name(n, 40), rows.node[i] ? soft(' ', name(rows.node[i], 40)) : ''),
			...states.map((_, k) => (rows.shares[k][i] === null ? '?' : (100 * rows.shares[k][i]).toFixed(1)))]),
		'Source: CPUTime, UserTime, SystemTime, RunDelay, OffCPUDisk, of the whole job; shares of the row\u2019s part of the cores.');
}

// pick(row): what a click on a row does
export function budget(report, view, chosen, pick) {
	const { shares, core_s: all } = report.time_budget, f = report.facts, rows = report.page.rows, states = statesOf(shares);

	if (!shares.length)
		return section('went', 'Where the time went', '', el('p', { class: 'none' }, 'It is not known: the profile has no CPU time, or the number of cores is not known.'));
	const about = `${plural(f.cores, 'core')} \u00d7 ${time(f.wall_s)} = ${cores(f.core_s)}`;
	const many = rows.n > 1, per = rows.group > 1 ? `${rows.group} nodes` : `a ${rows.of}`;
	// A row's waiting is all of it; of the job it is what its own idle cores could have taken.
	const waits = rows.of === 'task' && shares.find((s) => s.name === 'other programs')?.share > 0.01 ? ' They wait for cores of other programs, too.' : '';
	const grid = el('div', { class: 'went' }, el('span', { class: 'jl' }, 'job'), jobBar(shares, states));

	if (many)
		grid.append(...strip(rows, states, view, chosen, pick, Math.min(196, Math.max(40, rows.n * 14))));
	grid.append(el('div', { class: 'pct' }, [0, 25, 50, 100].map((p) => {
		const s = el('span', {}, p === 100 ? '100 % of the time' : p);

		s.style.left = `${p}%`;
		return s;
	})));
	grid.append(el('div', { class: 'side' }, key(shares, states, all),
		many ? el('p', { class: 'soft' }, `Thick bar: the job. Thin rows: each is ${per}`, el('span', { class: 'screen' }, '; click one, or press Up and Down, to follow it'), `.${waits}`) : ''));
	if (many)
		grid.append(behind(rows, states));
	return section('went', 'Where the time went', about, grid);
}
