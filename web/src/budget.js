// SPDX-License-Identifier: GPL-2.0-or-later
// Where the time went: a bar of the job, a row per task or node on the same scale, and the numbers; of the cores, and
// of the threads.
import { canvas, colour, el, fits, name, section, soft, table, widthOf } from './dom.js';
import { cores, count, number, plural, share, time } from './format.js';
import { onArrows } from './pointer.js';
import { ofCulprits, ofModules, ofThreads, statesOf } from './states.js';

const LABELS = 14; // names beside rows, at most
const SIDE = 5; // pixels beside a text in a bar
const KEY_LINE = 22; // pixels of a line of the key, which is below the bars where it is higher than these

function jobBar(shares, states) {
	const text = shares.map((s) => `${s.name} ${share(s.share)}`).join(', ');
	const bar = el('div', { class: 'jobbar', role: 'img', 'aria-label': `The job: ${text}` });

	shares.forEach((s, i) => {
		const texts = [`${s.name} ${share(s.share)}`, share(s.share)], [all, short] = texts.map((t) => widthOf(t) + 2 * SIDE);
		const part = el('i', {}, fits(el('span', {}, texts[0]), all), fits(el('span', {}, texts[1]), short, all));

		part.style.width = `${100 * Math.min(1, s.share)}%`;
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
	else // of a group "n999 to n1000": the first of the first one, the last of the last one
		for (const i of [0, rows.n - 1])
			put(lay.at[i] + (i ? lay.each - 6 : 6), rows.group > 1 ? rows.name[i].split(' to ').at(i ? -1 : 0) : rows.name[i]);
	return box;
}

function strip(rows, b, view, chosen, pick, height) {
	const lay = layout(rows, height, 4);
	const c = canvas(`A bar per ${rows.of}, with the states and the order of the bar of the job`, (g, w, h) => {
		const hot = chosen(), k = h / height;

		for (let i = 0; i < rows.n; i++) {
			const top = Math.round(lay.at[i] * k), bottom = Math.round((lay.at[i] + lay.each) * k);
			let x = 0;

			g.globalAlpha = hot && !hot.has(i) ? 0.3 : 1;
			b.states.forEach((s, n) => {
				const v = (b.rows[n][i] ?? 0) * w;

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

function key({ shares, states, all, unit }) {
	const of = unit ? `${unit}${all >= 3600 ? 'h' : 's'}` : 'samples';

	return el('table', { class: 'key' },
		el('thead', {}, el('tr', {}, el('th', {}, el('span', { class: 'sr' }, 'state')), el('th', { scope: 'col' }, '%'),
			el('th', { scope: 'col' }, of))),
		el('tbody', {}, shares.map((s, i) => el('tr', { title: states[i].about },
			el('th', { scope: 'row' }, el('span', { class: `sw b${states[i].colour.slice(3)}` }), s.name),
			el('td', { 'data-share': s.name, 'data-unit': '%' }, (100 * s.share).toFixed(1)),
			el('td', { class: 'soft', 'data-unit': of }, unit ? hours(s.share * all, all) : count(s.share * all))))));
}

const LEAST_HOURS = 0.00095; // 3.4 s

function hours(v, all) {
	const n = all >= 3600 ? v / 3600 : v;

	return n >= 99.95 ? count(n) : n >= 0.095 || n < LEAST_HOURS ? n.toFixed(1) : String(Number(n.toPrecision(1)));
}

function behind(rows, b) {
	return table(`Table: each ${rows.group > 1 ? 'group of nodes' : rows.of}`, [rows.of, ...b.shares.map((s) => `${s.name} %`)],
		() => rows.name.map((n, i) => [el('span', {}, name(n, 40), rows.node[i] ? soft(' ', name(rows.node[i], 40)) : ''),
			...b.rows.map((v) => (v[i] === null ? '?' : (100 * v[i]).toFixed(1)))]), b.source, `each ${rows.of}, of ${b.whole}`);
}

const ticks = (text) => el('div', { class: 'pct' }, [0, 25, 50, 100].map((p) => {
	const s = el('span', {}, p === 100 ? `100 % of ${text}` : p);

	s.style.left = `${p}%`;
	return s;
}));

// b: shares, states and source; rows[state][row]; all and unit of the time; what 100 % is (whole), and a note on the rows; null: nothing is said of them.
function bars(rows, b, view, chosen, pick) {
	const many = rows.n > 1, height = Math.min(196, Math.max(40, rows.n * 14));
	const isLow = !many || height < KEY_LINE * (b.shares.length + 1), per = rows.group > 1 ? `${rows.group} nodes` : `a ${rows.of}`;
	const grid = el('div', { class: isLow ? 'went flat' : 'went' }, el('span', { class: 'jl' }, 'job'), jobBar(b.shares, b.states));

	if (many)
		grid.append(...strip(rows, b, view, chosen, pick, height));
	grid.append(ticks(b.whole));
	grid.append(el('div', { class: 'side' }, key(b),
		many && b.note !== null ? el('p', { class: 'soft' }, `Thick bar: the job. Thin rows: each is ${per}`, el('span', { class: 'screen' }, '; click one', el('span', { class: 'keyed' }, ', or press Up and Down,'), ' to follow it'), `.${b.note}`) : ''));
	if (many)
		grid.append(behind(rows, b));
	return grid;
}

const launcher = (rows) => (rows.are_ranks ? ' The job\u2019s bar has the ranks\u2019 launcher (mpirun), too; the rows do not.' : '');

// What the index says of other jobs of the program, and of earlier runs; nothing where it says nothing.
export function beside(alike) {
	const { more, earlier } = alike ?? {}, lines = [];

	if (more)
		lines.push(`More ${more.of} than ${Math.floor(100 * more.than)} % of ${count(more.jobs)} other jobs of ${more.program} here.`);
	if (earlier)
		lines.push(`It took ${number(earlier.elapsed_s / earlier.median_s)} times the median of the ${earlier.runs} earlier runs, ${time(earlier.median_s)}.`);
	return lines.length ? [el('p', { class: 'beside' }, lines.join(' '))] : [];
}

// pick(row): what a click on a row does
export function budget(report, view, chosen, pick) {
	const { shares, core_s: all } = report.time_budget, f = report.facts, { rows } = report.page;

	if (!shares.length)
		return section('went', 'Where the time went', '', el('p', { class: 'none' }, 'It is not known: the profile has no CPU time, or the number of cores is not known.'));
	const about = `${plural(f.cores, 'core')} \u00d7 ${time(f.wall_s)} = ${cores(f.core_s)}`;

	return section('went', 'Where the time went', about, ...beside(report.alike), bars(rows, { shares, states: statesOf(shares), rows: rows.shares, all, unit: 'core-', whole: 'the time', note: launcher(rows),
		source: 'Source: CPUTime, UserTime, SystemTime, RunDelay, OffCPUDisk, of the whole job; shares of the row\u2019s part of the cores.' }, view, chosen, pick));
}

const LEAST = 0.01; // of the job: causes with less are one, as long as no row has LEAST_ROW of it
const LEAST_ROW = 0.1;

// The parts of the threads' time that are shown, of the job and of its rows alike.
export function shown(shares, rows) {
	const out = { shares: [], rows: [] }, put = (s, row) => {
		out.shares.push(s);
		out.rows.push(row);
	};
	const other = { kind: 'blocked', name: 'other', share: 0 }, others = [];

	shares.forEach((s, i) => {
		const row = rows[i] ?? [], isSmall = s.share < LEAST && !row.some((v) => v >= LEAST_ROW);

		if (s.share === null || (s.kind !== 'run' && s.kind !== 'blocked' && s.kind !== 'wait' && !s.share && !row.some((v) => v)))
			return;
		if (s.kind !== 'blocked' || (!isSmall && s.name !== other.name)) {
			put(s, row);
			return;
		}
		other.share += s.share;
		row.forEach((v, k) => {
			others[k] = (others[k] ?? 0) + (v ?? 0);
		});
	});
	if (other.share > 0)
		put(other, others);
	return out;
}

const barsOf = (rows, b, view, chosen, pick) => bars(b.rows.length && b.rows[0].length ? rows : { ...rows, n: 0 }, b, view, chosen, pick);
const lived = (s) => (s >= 3600 ? `${number(s / 3600)} hours` : time(s));

export function threads(report, view, chosen, pick) {
	const { shares: all, thread_s: s } = report.thread_budget ?? {}, { rows } = report.page;

	if (!all?.length)
		return null;
	const { shares, rows: of } = shown(all, rows.thread_shares ?? []);

	return section('threads', 'What threads did', `all threads together lived ${lived(s)}`, barsOf(rows, { shares, states: ofThreads(shares), rows: of, all: s, unit: 'thread-',
		whole: 'the threads\u2019 time', note: null, source: 'Source: TimeBudget, or RankBudget of ranks; own code and kernel as UserTime and SystemTime are to each other.' },
	view, chosen, pick));
}

const LEAST_PART = 0.0005; // is 0.1 %, rounded

// Parts that are not next to nothing, of the job and of its rows alike.
export function present(shares, rows) {
	const kept = shares.map((s, i) => i).filter((i) => shares[i].share >= LEAST_PART || (shares[i].share !== null && rows[i]?.some((v) => v >= LEAST_PART)));

	return { shares: kept.map((i) => shares[i]), rows: kept.map((i) => rows[i] ?? []) };
}

const WAITED = 0.005; // of the runnable time: with less it does not matter what had the CPU

export function culprits(report, view, chosen, pick) {
	const { shares: all, runnable_s: s } = report.culprits ?? {}, { rows } = report.page;

	if (!all?.length || !(1 - all[0].share >= WAITED))
		return null;
	const { shares, rows: of } = present(all, rows.culprit_shares ?? []);

	return section('culprits', 'What had the CPU', `threads ran or waited for a CPU for ${lived(s)}`, barsOf(rows, { shares, states: ofCulprits(shares), rows: of, all: s, unit: 'thread-',
		whole: 'that time', note: null, source: 'Source: CPUTime, and Culprits or RankCulprits: at each switch, what had the CPU that a thread waited for.' },
	view, chosen, pick));
}

export function modules(report, view, chosen, pick) {
	const { shares: all, samples: n } = report.samples ?? {}, { rows } = report.page;

	if (!all?.length)
		return null;
	const { shares, rows: of } = present(all, rows.module_shares ?? []);

	return section('modules', 'Where the code was', `${count(n)} samples of running threads`, barsOf(rows, { shares, states: ofModules(shares), rows: of, all: n, unit: '',
		whole: 'the samples', note: null, source: 'Source: Samples, or RankSamples of ranks: by the file whose code a thread executed, 97 times a second of each CPU.' },
	view, chosen, pick));
}
