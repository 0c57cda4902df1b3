// SPDX-License-Identifier: GPL-2.0-or-later
// Units by time: a pixel per row and cell, in the colour of the state with most of it, or of one quantity.
import { axis } from './axis.js';
import { labels, layout } from './budget.js';
import { LEVELS, UNKNOWN, cell, stateOf } from './data.js';
import { colour, el, low, name, section, soft, table } from './dom.js';
import { mb, rate, share, time } from './format.js';
import { onArrows, pin, pointAt } from './pointer.js';
import { OVER_TIME } from './states.js';

const KINDS = [
	{ key: 'state', name: 'State' },
	{ key: 'cpu', name: 'CPU', text: share, base: '--s0', about: 'of its cores' },
	{ key: 'wait', name: 'Wait for CPU', text: share, base: '--s3', about: 'threads by cores' },
	{ key: 'disk', name: 'Wait for disk', text: share, base: '--s4', about: 'threads by cores' },
	{ key: 'memory', name: 'Memory', text: mb, base: '--s2', about: '' },
	{ key: 'io', name: 'Read + write', text: rate, base: '--s5', about: '' },
	{ key: 'gpu', name: 'Use', text: share, base: '--s0', about: '' },
	{ key: 'gpu_memory', name: 'Memory', text: mb, base: '--s2', about: '' },
];

// "#163270" as [22, 50, 112].
function rgb(hex) {
	const n = parseInt(hex.slice(1).length === 3 ? hex.slice(1).replace(/./g, '$&$&') : hex.slice(1), 16);

	return [n >> 16, n >> 8 & 255, n & 255];
}

const SHADES = 64;
const mix = (a, b, k) => a.map((v, i) => Math.round(v + (b[i] - v) * k));

// The colour of each level; UNKNOWN stays clear.
function ramp(base) {
	const from = rgb(colour('--faint')), to = rgb(colour(base));

	return Array.from({ length: LEVELS + 1 }, (_, i) => mix(from, to, Math.sqrt(i / LEVELS)));
}

// A state is the paler the smaller its part of the cell is; the rest is idle.
function shades(of) {
	const idle = rgb(colour('--s6')), own = rgb(colour(of));

	return Array.from({ length: SHADES + 1 }, (_, i) => mix(idle, own, 0.12 + 0.88 * i / SHADES));
}

function draw(c, rows, kind, view, hot) {
	const first = Math.floor(view.from / rows.dt_s + 1e-9), last = Math.min(rows.cells, Math.ceil(view.to / rows.dt_s - 1e-9));
	const w = Math.max(1, last - first), image = new ImageData(w, rows.n);
	const states = OVER_TIME.map((s) => shades(s.colour)), colours = kind.base ? ramp(kind.base) : null;
	const levels = rows.of_time[kind.key]?.bytes;

	for (let row = 0; row < rows.n; row++)
		for (let k = 0; k < w; k++) {
			const level = levels?.[row * rows.cells + first + k], [state, part] = levels ? [-1, 0] : stateOf(rows, row, first + k);
			const pixel = levels ? (level === UNKNOWN ? null : colours[level]) : states[state]?.[Math.round(part * SHADES)];

			if (pixel)
				image.data.set([...pixel, hot && !hot.has(row) ? 80 : 255], (row * w + k) * 4);
		}
	c.width = w;
	c.height = rows.n;
	c.getContext('2d').putImageData(image, 0, 0);
	c.style.left = `${100 * view.place(first * rows.dt_s)}%`;
	c.style.width = `${100 * (last - first) * rows.dt_s / (view.to - view.from)}%`;
}

function legendOf(kind, rows) {
	if (!kind.base)
		return OVER_TIME.map((s) => el('span', {}, el('i', { class: `sw b${s.colour.slice(3)}` }), s.name)).concat(el('span', {}, 'paler: the rest is asleep or idle'));
	const strip = el('canvas', { class: 'ramp', width: LEVELS + 1, height: 1, role: 'img', 'aria-label': 'from none to the highest value' });
	const image = new ImageData(LEVELS + 1, 1);

	ramp(kind.base).forEach((c, i) => image.data.set([...c, 255], i * 4));
	strip.getContext('2d').putImageData(image, 0, 0);
	return [el('span', {}, '0 ', strip, ` ${kind.text(rows.of_time[kind.key].max)} ${kind.about}`)];
}

const called = (rows, row) => el('span', {}, `${rows.of} `, name(rows.name[row], 24), rows.node[row] ? [' on ', name(rows.node[row], 24)] : '');

// What is known of the cell under the pointer.
function values(rows, row, at) {
	return el('div', { class: 'under' }, el('b', {}, called(rows, row)), KINDS.filter((k) => k.text && rows.of_time[k.key]).map((k) =>
		el('span', {}, soft(`${k.name} `), k.text(cell(rows, k.key, row, at)))));
}

function statesOf(rows, row) {
	const n = new Array(OVER_TIME.length).fill(0);
	let known = 0;

	for (let k = 0; k < rows.cells; k++) {
		const [s] = stateOf(rows, row, k);

		if (s >= 0) {
			n[s]++;
			known++;
		}
	}
	return n.map((v) => (known ? (100 * v / known).toFixed(1) : '?'));
}

function meanOf(rows, key, row) {
	let sum = 0, n = 0;

	for (let k = 0; k < rows.cells; k++) {
		const v = cell(rows, key, row, k);

		if (!Number.isNaN(v)) {
			sum += v;
			n++;
		}
	}
	return n ? sum / n : NaN;
}

function behind(rows) {
	if (rows.of_time.cpu)
		return table('Table: share of cells by state', [rows.of, ...OVER_TIME.map((s) => `${s.name} %`)],
			() => rows.name.map((n, i) => [name(n, 40), ...statesOf(rows, i)]),
			'Source: CPUTime, RunDelay, OffCPUDisk; the state of a cell is what had most of the row\u2019s cores, beside idle.');
	const kinds = KINDS.filter((k) => rows.of_time[k.key]);

	return table('Table: means', [rows.of, ...kinds.map((k) => k.name)],
		() => rows.name.map((_, i) => [called(rows, i), ...kinds.map((k) => k.text(meanOf(rows, k.key, i)))]), 'Source: Utilization and MemMB of GPU.');
}

// A heat map of page.rows or page.gpu_rows; pick(row): what a click on a row does, if anything.
export function heat(rows, id, view, clock, chosen, pick) {
	const kinds = KINDS.filter((k) => (k.base ? rows.of_time[k.key]?.max > 0 : rows.of_time.cpu));

	if (!rows.n || !kinds.length)
		return null;
	const height = rows.n === 1 ? 28 : Math.min(352, Math.max(72, rows.n * 10)), lay = layout(rows, height, 0);
	const c = el('canvas', { class: 'heat', role: 'img', 'aria-label': `Each ${rows.of} by time, coloured by what it did` });
	const plot = el('div', { class: 'plot' }, c), val = el('div', { class: 'val' }), legend = el('div', { class: 'legend' });
	let kind = kinds[0];
	const redraw = () => {
		draw(c, rows, kind, view, chosen());
		legend.replaceChildren(...legendOf(kind, rows));
	};
	const buttons = el('div', { class: 'choice', role: 'group', 'aria-label': 'What the colours say' }, kinds.map((k) =>
		el('button', { type: 'button', 'aria-pressed': String(k === kind), onclick: (e) => {
			kind = k;
			buttons.querySelectorAll('button').forEach((b) => b.setAttribute('aria-pressed', b === e.currentTarget));
			redraw();
		} }, k.name)));
	const rowAt = (e) => lay.row((e.clientY - plot.getBoundingClientRect().top) * height / plot.clientHeight);

	const names = labels(rows, lay, height);

	plot.style.height = names.style.height = `${height}px`;
	pointAt(plot, view, {
		hover: (e) => {
			const row = rowAt(e), at = Math.min(rows.cells - 1, Math.floor(view.at / rows.dt_s));

			if (row >= 0)
				val.replaceChildren(values(rows, row, at));
		},
		leave: () => val.replaceChildren(),
		click: (e) => {
			const row = rowAt(e);

			if (pick && row >= 0)
				pick(row);
			else
				pin(view, view.at);
		},
	});
	if (pick && rows.n > 1)
		onArrows(plot, rows, view, pick);
	view.onShow(redraw);
	const what = rows.group > 1 ? `${rows.group} ${rows.of}s a row` : `a row per ${rows.of}`;
	const part = low(section(id, rows.n > 1 || rows.of === 'GPU' ? `Each ${rows.of} over time` : 'States over time',
		soft(`${what}, each cell ${time(rows.dt_s)}`, pick && rows.n > 1 ? el('span', { class: 'screen' }, `; click a ${rows.of}`, el('span', { class: 'keyed' }, ', or press Up and Down,'), ' to see its lines above') : ''),
		el('div', { class: 'bar2' }, buttons, legend),
		el('div', { class: 'tl hm' }, el('div', { class: 'lab' }, names), plot, val, el('span'), axis(view, clock), el('span')),
		behind(rows)));

	return { part, redraw };
}
