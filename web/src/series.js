// SPDX-License-Identifier: GPL-2.0-or-later
// Lines over one axis of time, of one thing that was measured in equal steps: what is not known is hatched, never 0. The pointer, or the
// arrow keys, choose an instant; its values stand at the right, else those of all that is seen.
import { axis } from './axis.js';
import { canvas, colour, el, soft } from './dom.js';
import { pin, pointAt } from './pointer.js';

const HOUR = 3600;
const LANDSCAPE = 780; // pixels of the axis on paper
const EDGE = 1; // pixels that a line at an end of its axis has inside of the plot

export const isKnown = (v) => v !== null && v !== undefined && !Number.isNaN(v);

// Where values follow each other for which `is` is true: [from, to), in steps.
export function runs(values, is) {
	const out = [];

	for (let i = 0; i < values.length; i++) {
		if (!is(values[i]))
			continue;
		const last = out.at(-1);

		if (last && last[1] === i)
			last[1] = i + 1;
		else
			out.push([i, i + 1]);
	}
	return out;
}

// Highest, mean and lowest of the known values of the steps from..to; NaN: none is known.
export function extent(values, from, to) {
	let high = NaN, low = NaN, sum = 0, n = 0;

	for (let i = from; i < to; i++) {
		const v = values[i];

		if (!isKnown(v))
			continue;
		high = v <= high ? high : v;
		low = v >= low ? low : v;
		sum += v;
		n++;
	}
	return { highest: high, mean: n ? sum / n : NaN, lowest: low };
}

// The steps that a window shows, at least one.
export function shownSteps(view, dt, n) {
	const from = Math.min(n - 1, Math.max(0, Math.floor(view.from / dt + 1e-9)));

	return [from, Math.max(from + 1, Math.min(n, Math.ceil(view.to / dt - 1e-9)))];
}

// One of [from, to): a path of steps; closed: down to the ground.
function trace(g, values, [from, to], x, y, ground) {
	g.beginPath();
	g.moveTo(x(from), ground ?? y(values[from]));
	for (let i = from; i < to; i++) {
		g.lineTo(x(i), y(values[i]));
		g.lineTo(x(i + 1), y(values[i]));
	}
	if (ground !== undefined)
		g.lineTo(x(to), ground);
}

function draw(g, w, h, row, view, dt) {
	const x = (i) => view.place(i * dt) * w, y = (v) => h - EDGE - (h - 2 * EDGE) * Math.min(row.top, Math.max(0, v)) / row.top;

	g.clearRect(0, 0, w, h);
	g.fillStyle = colour(row.colour ?? '--band');
	for (const run of row.area ? runs(row.area, isKnown) : []) {
		trace(g, row.area, run, x, y, h);
		g.fill();
	}
	for (const [from, to] of row.bounds ? runs(row.bounds[1], isKnown) : [])
		for (let i = from; i < to; i++)
			g.fillRect(x(i), y(row.bounds[1][i]), x(i + 1) - x(i), y(row.bounds[0][i] ?? row.bounds[1][i]) - y(row.bounds[1][i]));
	g.strokeStyle = colour('--ink');
	g.lineWidth = 1.4;
	for (const run of runs(row.line, isKnown)) {
		trace(g, row.line, run, x, y);
		g.stroke();
	}
}

// What covers steps for which nothing is known, wherever the window is.
function hatch([from, to], view, dt) {
	const gap = el('i', { class: 'hatch', title: 'not known' });

	view.onShow(() => {
		const [a, b] = [from * dt, to * dt].map((t) => Math.min(1, Math.max(0, view.place(t))));

		gap.hidden = b <= a;
		gap.style.left = `${100 * a}%`;
		gap.style.width = `${100 * (b - a)}%`;
	});
	return gap;
}

function valuesOf(row, view, dt) {
	const box = el('dl', { class: 'val' }), n = row.line.length;

	view.onMove(() => {
		const at = view.place(view.at), on = at >= 0 && at < 1, i = Math.min(n - 1, Math.floor(view.at / dt + 1e-9));
		const pairs = on ? [['value', isKnown(row.line[i]) ? row.text(row.line[i]) : 'not known'], ...(row.more?.(i) ?? [])] :
			Object.entries(extent(row.line, ...shownSteps(view, dt, n))).map(([k, v]) => [k, Number.isNaN(v) ? 'not known' : row.text(v)]);

		box.replaceChildren(...pairs.flatMap(([k, v]) => [el('dt', {}, k), el('dd', { 'data-value': `${row.key} ${k}` }, v)]));
		box.classList.toggle('on', on);
	});
	return box;
}

function rowOf(row, view, dt, made) {
	const label = el('div', { class: 'lab' }, el('b', {}, row.name), ' ', soft(row.unit));

	if (!row.line)
		return el('div', { class: 'row' }, label, el('div', { class: 'plot flat' }, el('p', { class: 'soft' }, row.unknown)), el('span'));
	const c = canvas('', (g, w, h) => draw(g, w, h, row, view, dt), { role: null, 'aria-hidden': 'true', class: 'steps' });
	const plot = el('div', { class: 'plot', role: 'img', 'aria-label': `${row.name} over time, ${row.unit}; the table below has its numbers` },
		runs(row.line, (v) => !isKnown(v)).map((run) => hatch(run, view, dt)), c, el('span', { class: 'y hi' }, row.axis(row.top)), el('span', { class: 'y lo' }, '0'));

	made.push([c, plot]);
	pointAt(plot, view);
	return el('div', { class: 'row' }, label, plot, valuesOf(row, view, dt));
}

// Left and Right move the instant by a step, with Shift by an hour; Escape lets it go, and then the window.
function arrows(box, view, dt, rows, clock, said) {
	box.addEventListener('keydown', (e) => {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];

		if (!by || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const step = e.shiftKey ? Math.max(dt, HOUR) : dt, from = Number.isNaN(view.pin) ? view.to - (by < 0 ? 0 : step) : view.pin;
		const at = Math.min(view.end - dt / 2, Math.max(dt / 2, (Math.floor((from + by * step) / dt + 1e-9) + 0.5) * dt)), i = Math.floor(at / dt);

		if (at < view.from || at > view.to)
			Object.assign(view, { from: Math.max(0, view.from + by * step), to: Math.min(view.end, view.to + by * step) });
		Object.assign(view, { pin: at, at });
		view.show();
		said.textContent = `${clock.text(i * dt)}: ${rows.filter((r) => r.line).map((r) => `${r.name} ${isKnown(r.line[i]) ? r.text(r.line[i]) : 'not known'}`).join(', ')}`;
		e.preventDefault();
	});
	addEventListener('keydown', (e) => {
		if (e.key !== 'Escape')
			return;
		if (Number.isNaN(view.pin))
			view.reset();
		else
			pin(view, view.pin);
	});
}

// rows: { key, name, unit, line, area, bounds: [lowest, highest], colour, top, axis: text of the axis' end, text: of a value, more(i): further values of a step, unknown: why there
// is no line }. before: elements above the lines, in the same three columns.
export function series(view, clock, dt, rows, label, before = []) {
	const made = [], said = el('p', { class: 'sr', 'aria-live': 'polite' });
	const box = el('div', { class: 'tl series', tabindex: 0, role: 'group', 'aria-label': `${label}; Left and Right move the cursor, with Shift by an hour` },
		before, rows.map((r) => rowOf(r, view, dt, made)), el('span'), axis(view, clock, LANDSCAPE), el('span'));
	const redraw = () => made.forEach(([c]) => c.redraw());

	arrows(box, view, dt, rows, clock, said);
	view.onShow(redraw);
	return { part: el('div', {}, box, said), redraw, start: () => {
		const resized = new ResizeObserver(redraw);

		made.forEach(([, plot]) => resized.observe(plot));
	} };
}
