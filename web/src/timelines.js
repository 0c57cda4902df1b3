// SPDX-License-Identifier: GPL-2.0-or-later
// Aligned lines over one axis of time: the band from the lowest to the highest unit (where points are longer
// than the profile's rows, to its highest row), the median, and the mean of the rows that are chosen. uPlot draws; pointing and zooming are the page's own (pointer.js).
import uPlot from 'uplot';
import { axis } from './axis.js';
import { cell } from './data.js';
import { colour, el, section, soft, table } from './dom.js';
import { time } from './format.js';
import { LINES, highest, inside, summary } from './lines.js';
import { drawMarks, lanes as phaseLanes } from './marks.js';
import { pointAt } from './pointer.js';

const OF_CORES = new Set(['cpu', 'wait', 'disk']);
const CELL_OF = { cpu: 'cpu', memory: 'memory', io: 'io', wait: 'wait', disk_wait: 'disk' };

// uPlot takes null for a gap. The last value holds to the end.
function points(values) {
	const out = Array.from(values, (v) => (Number.isNaN(v) ? null : v));

	out.push(out.at(-1) ?? null);
	return out;
}

function times(dt, n, end) {
	const out = Array.from({ length: n }, (_, i) => i * dt);

	out.push(end);
	return out;
}

// The mean over the chosen rows, at the points of the line: bytes of the heat map, which are good to 1/250.
export function meanOf(rows, line, chosen, lines) {
	const key = CELL_OF[line.key];

	if (!chosen || !rows.of_time[key] || rows.of !== line.of)
		return new Array(lines.n + 1).fill(null);
	const out = Array.from({ length: lines.n }, (_, i) => {
		const at = Math.min(rows.cells - 1, Math.floor(i * lines.dt_s / rows.dt_s));
		let sum = 0, n = 0;

		for (const row of chosen) {
			const v = cell(rows, key, row, at) * (OF_CORES.has(key) ? rows.cores[row] : 1) / rows.group;

			if (!Number.isNaN(v)) {
				sum += v;
				n++;
			}
		}
		return n ? sum / n : null;
	});

	out.push(out.at(-1));
	return out;
}

const stepped = (u, i, a, b) => uPlot.paths.stepped({ align: 1 })(u, i, a, b);

function bands(u, report, view) {
	const f = report.findings[view.finding];

	if (!f)
		return;
	const g = u.ctx, { left, top, width, height } = u.bbox;

	g.save();
	g.fillStyle = colour('--mark');
	for (const time of f.times) {
		const [a, b] = time.map((t) => Math.min(left + width, Math.max(left, u.valToPos(t, 'x', true))));

		g.fillRect(a, top, b - a, height);
	}
	g.restore();
}

function makePlot(line, box, report, view, hot) {
	const { lines } = report.page, kind = LINES[line.key], top = kind.top(highest(line));
	const xs = times(lines.dt_s, lines.n, lines.end_s);
	const fixed = [xs, points(line.highest), points(line.lowest), points(line.median)];
	const plain = { paths: stepped, points: { show: false } };
	const u = new uPlot({
		width: Math.max(40, box.clientWidth), height: Math.max(20, box.clientHeight), padding: [0, 0, 0, 0],
		legend: { show: false }, cursor: { show: false }, axes: [{ show: false }, { show: false }],
		scales: { x: { time: false, range: () => [view.from, view.to] }, y: { range: () => inside(0, top, box.clientHeight) } },
		series: [{}, { ...plain, stroke: () => colour('--band'), width: 1 }, { ...plain, stroke: () => colour('--band'), width: 1 },
			{ ...plain, stroke: () => colour('--ink'), width: 1.25 }, { ...plain, stroke: () => colour(hot().colour), width: 1.75 }],
		bands: [{ series: [1, 2], fill: () => colour('--band') }],
		hooks: { drawClear: [(plot) => bands(plot, report, view)], draw: [(plot) => drawMarks(plot, report, view)] },
	}, [...fixed, meanOf(report.page.rows, line, hot().rows, lines)], box);

	u.show = () => {
		u.setData([...fixed, meanOf(report.page.rows, line, hot().rows, lines)], false);
		u.setScale('x', { min: view.from, max: view.to });
	};
	u.top = top;
	return u;
}

// Which points are in the window, at least one.
export function inWindow(lines, view) {
	const from = Math.min(lines.n - 1, Math.max(0, Math.floor(view.from / lines.dt_s + 1e-9)));

	return [from, Math.max(from + 1, Math.min(lines.n, Math.ceil(view.to / lines.dt_s - 1e-9)))];
}

function values(line, lines, view) {
	const box = el('dl', { class: 'val' }), kind = LINES[line.key];
	const cells = {};

	for (const k of ['highest', 'median', 'lowest'])
		box.append(el('dt', {}, k), cells[k] = el('dd', { 'data-value': `${line.key} ${k}` }));
	view.onMove(() => {
		const on = view.place(view.at) >= 0 && view.place(view.at) <= 1;
		const at = Math.min(lines.n - 1, Math.floor(view.at / lines.dt_s));
		const s = on ? summary(line, at, at + 1) : summary(line, ...inWindow(lines, view));

		for (const k of Object.keys(cells))
			cells[k].textContent = kind.text(s[k]);
		box.classList.toggle('on', on);
	});
	return box;
}

function rowsBehind(line, lines, clock) {
	const kind = LINES[line.key], step = Math.ceil(lines.n / 100), out = [];

	for (let i = 0; i < lines.n; i += step) {
		const s = summary(line, i, Math.min(lines.n, i + step));

		out.push([clock.text(i * lines.dt_s), kind.text(s.lowest), kind.text(s.median), kind.text(s.highest)]);
	}
	return out;
}

const unitOf = (line) => (line.of === 'GPU' ? 'GPU' : line.of);

function row(line, report, view, clock, hot, plots) {
	const { lines } = report.page, kind = LINES[line.key], each = kind.each(unitOf(line));
	const label = line.units > 1 ? `lowest, median and highest of ${line.units} ${unitOf(line)}s` : `of one ${unitOf(line)}`;
	const box = el('div', { class: 'plot', role: 'img', 'aria-label': `${kind.name} over time, ${label}` });
	const top = el('span', { class: 'y hi' });

	box.append(top, el('span', { class: 'y lo' }, '0'));
	pointAt(box, view);
	plots.push(() => {
		const u = makePlot(line, box, report, view, hot);

		top.textContent = kind.text(u.top);
		return [u, box];
	});
	return el('div', { class: 'row' }, el('div', { class: 'lab' }, el('b', {}, kind.name), ' ', soft(each)),
		box, values(line, lines, view));
}

const titleOf = (times) => ['all the time', ''][times.length] ?? `${times.length} times: a click shows the next one`;

function dash([from, to], view) {
	const line = el('i');

	view.onShow(() => {
		const [a, b] = [from, to].map((t) => Math.min(1, Math.max(0, view.place(t))));

		line.hidden = view.place(to) < 0 || view.place(from) > 1;
		line.style.left = `${100 * a}%`;
		line.style.width = `${100 * (b - a)}%`;
	});
	return line;
}

function lanes(report, view) {
	const numbers = el('div', { class: 'ln' }, el('em', {}, 'findings')), plot = el('div', { class: 'plot lanes' });
	const shown = report.findings.map((f, i) => [f, i]).filter(([f]) => f.times.length || f.severity !== 'note').slice(0, 5);

	pointAt(plot, view, { double: () => {}, click: (e) => {
		const lane = e.target.closest?.('[data-lane]');

		if (lane)
			view.pick(+lane.dataset.lane, report.findings[+lane.dataset.lane]);
	} });
	for (const [f, i] of shown) {
		const times = f.times.length ? f.times : [[0, view.end]];
		const lane = el('div', { class: f.severity, 'data-lane': i, title: titleOf(f.times) }, times.map((t) => dash(t, view)));

		numbers.append(el('span', { class: f.severity }, i + 1));
		plot.append(lane);
		view.onShow(() => {
			lane.classList.toggle('dim', view.finding >= 0 && view.finding !== i);
		});
	}
	return shown.length ? [numbers, plot, el('span', { class: 'val e' })] : [];
}

// What the values beside the lines are of. Of more than half as many points as there may be, the
// page does not say how long the bins are of which the highest is shown.
const POINTS = 3000;

function about(lines, view, clock) {
	const box = el('span', { class: 'when' }), mean = `${lines.n <= POINTS / 2 && !lines.of_rows ? 'means' : 'points'} of ${time(Math.min(lines.dt_s, lines.end_s))}`;

	view.onMove(() => {
		const on = view.place(view.at) >= 0 && view.place(view.at) <= 1;

		box.textContent = on ? `${mean.replace('s of', ' of')}, at ${clock.at(view.at)}` : view.isWhole ? mean : `${mean}, ${clock.span(view.from, view.to)}`;
	});
	return box;
}

// What the band goes from and to; null: there is none.
export function bandOf(lines, many, of) {
	if (lines.of_rows)
		return many ? `lowest to highest row of any ${of}` : 'lowest to highest row';
	return many ? `lowest to highest ${of}` : null;
}

function legend(report, view, clock, hot, of) {
	const box = el('span', { class: 'soft lk' }), when = about(report.page.lines, view, clock);
	const many = report.page.lines.of.some((l) => l.units > 1), band = bandOf(report.page.lines, many, of);

	view.onShow(() => {
		const h = hot();

		box.replaceChildren(...[
			band ? el('span', {}, el('i', { class: 'k' }), band) : null,
			el('span', {}, el('i', { class: 'k l' }), many ? `median ${of}` : 'value'),
			h.rows ? el('span', { class: h.class }, el('i', { class: 'k h' }), el('b', {}, h.text)) : null,
			view.isWhole ? null : el('button', { type: 'button', class: 'whole', onclick: () => view.reset() }, 'whole job'),
			when,
		].filter(Boolean));
	});
	return box;
}

// hot(): the chosen rows, null: none, with text, class and the variable of their colour
export function timelines(report, shown, view, clock, hot, id, heading) {
	const plots = [], isFirst = id === 'time', of = shown[0]?.of ?? 'task';

	if (!shown.length)
		return { part: section(id, heading, '', el('p', { class: 'none' }, 'The profile has no rows of CPU time, memory or input and output.')), start() {}, redraw() {} };
	const grid = el('div', { class: 'tl' }, isFirst ? [phaseLanes(report, view), lanes(report, view)] : [],
		shown.map((l) => row(l, report, view, clock, hot, plots)), el('span'), axis(view, clock), el('span'));
	const tables = el('div', { class: 'tabs' }, soft('Tables'), shown.map((l) => table(LINES[l.key].name,
		['from', 'lowest', 'median', 'highest'], () => rowsBehind(l, report.page.lines, clock),
		`Source: ${LINES[l.key].source}; ${l.units} ${unitOf(l)}${l.units === 1 ? '' : 's'}; rows of ${time(report.coverage.row_s)}, points of ${time(report.page.lines.dt_s)}`)));
	const made = [];

	return {
		part: section(id, heading, legend(report, view, clock, hot, of), grid, tables),
		start() {
			made.push(...plots.map((make) => make()));
			const resize = new ResizeObserver(() => this.resize());

			made.forEach(([, box]) => resize.observe(box));
			view.onShow(() => made.forEach(([u]) => u.show()));
		},
		resize() {
			for (const [u, box] of made)
				if (box.clientWidth && (u.width !== box.clientWidth || u.height !== box.clientHeight))
					u.setSize({ width: box.clientWidth, height: box.clientHeight });
		},
		redraw() {
			this.resize();
			made.forEach(([u]) => u.redraw(false));
		},
	};
}
