// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof plot --html`: one column over time, of several files over each other; the line of each
// and its range, which uPlot draws.
import uPlot from 'uplot';
import { axis } from './axis.js';
import { Clock, spacing } from './clock.js';
import { canvas, colour, colourOf, el, low, name, section, table } from './dom.js';
import { count, plain, plural, time } from './format.js';
import { inside } from './lines.js';
import { paper } from './paper.js';
import { pointAt } from './pointer.js';
import { View } from './view.js';

const DASHES = [[], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1.5, 1.5], [10, 3], [6, 2, 2, 2, 2, 2]];

// Instants where a step begins or ends, each twice: the value up to it, and from it on. null is a gap.
export function joined(curves) {
	const at = [...new Set(curves.flatMap((c) => [...c.begin_s, ...c.end_s]))].sort((a, b) => a - b);
	const lines = curves.flatMap((c) => [c.high ?? c.middle, c.low ?? c.middle, c.middle].map((values) => {
		const out = new Array(2 * at.length).fill(null);
		let k = 0;

		at.forEach((t, i) => {
			while (k < values.length && c.end_s[k] < t)
				k++;
			if (k < values.length && c.begin_s[k] < t)
				out[2 * i] = values[k];
			if (k < values.length && c.end_s[k] <= t)
				k++;
			if (k < values.length && c.begin_s[k] <= t)
				out[2 * i + 1] = values[k];
		});
		return out;
	}));

	return [at.flatMap((t) => [t, t]), ...lines];
}

// Lowest, median and highest of the steps between two instants; of one instant, of the step there.
export function within(c, from, to) {
	const mids = [];
	let low = NaN, high = NaN;

	for (let i = 0; i < c.middle.length; i++) {
		if (c.middle[i] === null || c.end_s[i] <= from || c.begin_s[i] > to || (c.begin_s[i] === to && to > from))
			continue;
		const l = (c.low ?? c.middle)[i], h = (c.high ?? c.middle)[i];

		mids.push(c.middle[i]);
		low = l >= low ? low : l;
		high = h <= high ? high : h;
	}
	mids.sort((a, b) => a - b);
	const half = mids.length >> 1;

	return { lowest: low, highest: high, median: !mids.length ? NaN : mids.length % 2 ? mids[half] : (mids[half - 1] + mids[half]) / 2 };
}

const text = (p, v) => (Number.isNaN(v) ? '?' : `${Number((v * p.values.factor).toPrecision(4))}${p.values.unit ? ` ${p.values.unit}` : ''}`);

// The ticks of the values' axis: [where, label]
export function ticks(a) {
	const step = a.step / a.factor, out = [], places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(a.step) - 1e-9)));

	for (let k = Math.ceil(a.low / step - 1e-9); k * step <= a.high + 1e-9 * (a.high - a.low) && out.length < 40; k++)
		out.push([k * step, Math.abs(k * a.step) < 1e6 ? (k * a.step).toFixed(places) : String(Number((k * a.step).toPrecision(6)))]);
	return out;
}

function makePlot(p, box, view) {
	const lines = ticks(p.values), isOne = p.curves.length === 1, { low, high } = p.values;
	const edge = () => ({ stroke: 'transparent', width: 0, points: { show: false } });
	const grid = (u) => {
		u.ctx.save();
		u.ctx.fillStyle = colour('--line');
		for (const [v] of lines)
			u.ctx.fillRect(u.bbox.left, Math.round(u.valToPos(v, 'y', true)), u.bbox.width, 1);
		u.ctx.restore();
	};
	const u = new uPlot({
		width: Math.max(40, box.clientWidth), height: Math.max(40, box.clientHeight), padding: [0, 0, 0, 0],
		legend: { show: false }, cursor: { show: false }, axes: [{ show: false }, { show: false }],
		scales: { x: { time: false, range: () => [view.from, view.to] }, y: { range: () => inside(low, high, box.clientHeight) } },
		series: [{}, ...p.curves.flatMap((c, i) => [edge(), edge(), { stroke: () => (isOne ? colour('--ink') : colourOf(i)), width: 1.5, dash: DASHES[i], points: { show: false } }])],
		bands: p.curves.flatMap((c, i) => (c.low ? [{ series: [3 * i + 1, 3 * i + 2], fill: () => (isOne ? colour('--band') : `${colourOf(i)}38`) }] : [])),
		hooks: { drawClear: [grid] },
	}, joined(p.curves), box);

	view.onShow(() => u.setScale('x', { min: view.from, max: view.to }));
	new ResizeObserver(() => box.clientWidth && u.setSize({ width: box.clientWidth, height: box.clientHeight })).observe(box);
	return u;
}

function scaleOf(p) {
	const { low, high } = p.values;

	return el('div', { class: 'lab' }, ticks(p.values).map(([v, label]) => {
		const s = el('span', { class: 'yt' }, label);

		s.style.bottom = `${100 * ((v - low) / (high - low))}%`;
		return s;
	}));
}

function swatch(p, i) {
	return canvas('', (g, w, h) => {
		const c = p.curves.length === 1 ? colour('--ink') : colourOf(i);

		if (p.curves[i].low) {
			g.fillStyle = p.curves.length === 1 ? colour('--band') : `${c}38`;
			g.fillRect(0, 2, w, h - 4);
		}
		g.strokeStyle = c;
		g.lineWidth = 2;
		g.setLineDash(DASHES[i]);
		g.beginPath();
		g.moveTo(0, h / 2);
		g.lineTo(w, h / 2);
		g.stroke();
	}, { class: 'swatch', role: null, 'aria-hidden': 'true' });
}

// What the line and its range are of.
const made = (c, p) => (!c.low ? 'one table' : c.tables > 1 ? `median of ${plural(c.tables, p.series.toLowerCase() === 'tasks' ? 'task' : 'table')}` : 'mean of its rows');

function legend(p, view, clock, redraws) {
	const when = el('span', { class: 'soft' });
	const rows = p.curves.map((c, i) => {
		const sw = swatch(p, i), cells = ['lowest', 'median', 'highest'].map((k) => el('td', { 'data-value': `${i} ${k}` }));

		redraws.push(sw.redraw);
		view.onMove(() => {
			const on = view.place(view.at) >= 0 && view.place(view.at) <= 1;
			const s = on ? within(c, view.at, view.at) : within(c, view.from, view.to);

			['lowest', 'median', 'highest'].forEach((k, n) => { cells[n].textContent = text(p, s[k]); });
		});
		return el('tr', {}, el('th', { scope: 'row' }, sw, name(c.label, 120)), cells, el('td', {}, made(c, p)), el('td', {}, count(c.rows)));
	});

	view.onMove(() => {
		const on = view.place(view.at) >= 0 && view.place(view.at) <= 1;

		when.replaceChildren(on ? `at ${clock.at(view.at)}` : view.isWhole ? 'of all the time' : `of ${clock.span(view.from, view.to)}`,
			view.isWhole ? '' : el('button', { type: 'button', class: 'whole', onclick: () => view.reset() }, 'all the time'));
	});
	return low(section('values', 'Values', when, el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Table: values' }, el('table', { class: 'rk' },
		el('thead', {}, el('tr', {}, el('td'), ['lowest', 'median', 'highest', 'the line is', 'rows'].map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, rows)))));
}

function behind(p, clock) {
	return el('div', { class: 'tabs' }, el('span', { class: 'soft' }, 'Tables'), p.curves.map((c) => table(plain(c.label).slice(0, 40), ['from', 'to', 'lowest', 'line', 'highest'], () => {
		const step = Math.ceil(c.middle.length / 100), out = [];

		for (let i = 0; i < c.middle.length; i += step) {
			const last = Math.min(c.middle.length, i + step) - 1, s = within(c, c.begin_s[i], c.end_s[last]);

			out.push([clock.text(c.begin_s[i]), clock.text(c.end_s[last]), text(p, s.lowest), text(p, s.median), text(p, s.highest)]);
		}
		return out;
	})));
}

export function plot(p) {
	const view = new View(p.end_s), clock = new Clock({ job: {}, page: { lines: { end_s: p.end_s, dt_s: spacing(p.curves) } } }), redraws = [];
	const what = `${p.column} of ${p.series}`, unit = p.values.unit;
	const box = el('div', { class: 'plot', role: 'img', 'aria-label': `${what} over time${unit ? `, ${unit}` : ''}; tables below have the values` });
	const values = legend(p, view, clock, redraws);

	document.title = plain(`${p.curves.length > 1 ? '' : `${p.curves[0].label}: `}${what}: jobprof plot`).slice(0, 200);
	document.body.append(el('header', {}, el('h1', {}, name(what, 80), ' ', el('code', {}, name(unit, 40))), el('p', { class: 'st' }, plural(p.curves.length, 'file')),
		el('p', { class: 'about' }, p.curves.length > 1 ? '' : [name(p.curves[0].label, 120), ' \u00b7 '], `by the time since the start${p.curves.length > 1 ? ' of each' : ''}, up to ${time(p.end_s)}`),
		el('p', { class: 'keys' }, 'drag to zoom  ', el('kbd', {}, 'esc'), ' all the time')),
	el('main', { class: 'one-plot' }, el('div', { class: 'tl' }, scaleOf(p), box, el('span'), axis(view, clock)), values, behind(p, clock)),
	el('footer', {}, `jobprof ${p.version} \u00b7 charts: uPlot (MIT)`));
	pointAt(box, view);
	const u = makePlot(p, box, view), redraw = () => {
		u.redraw(false);
		redraws.forEach((f) => f());
	};

	addEventListener('keydown', (e) => e.key === 'Escape' && view.reset());
	addEventListener('resize', () => view.show());
	paper(redraw);
	view.show();
	redraw();
	return { plot: p, view, u };
}
