// SPDX-License-Identifier: GPL-2.0-or-later
// Points in a plane, each in the colour of its kind: of the page of `jobprof cluster --html`.
import { canvas, colour, colourOf, el, widthOf } from './dom.js';

const ROOM = [64, 26]; // pixels from tick to tick, of x and of y
const IN_DECADE = [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
const EVEN = 2.2; // between bounds that are nearer, ticks are evenly apart

const digits = (v) => String(Number(v.toPrecision(5)));

// As --svg has it: "20 ms"; what is no time has no unit.
const label = (a, v) => (!a.log ? digits(v) : v >= 0.9995 ? `${digits(v)} s` : v >= 0.0009995 ? `${digits(1e3 * v)} ms` : `${digits(1e6 * v)} \u00b5s`);

const scaled = (a, v) => (a.log ? Math.log10(v) : v);

// Where a value is on an axis, from 0 to 1.
export const placeOf = (a, v) => (scaled(a, v) - scaled(a, a.low)) / (scaled(a, a.high) - scaled(a, a.low));

function even(a, most) {
	const least = (a.high - a.low) / Math.max(1, most), ten = 10 ** Math.floor(Math.log10(least));
	const step = [1, 2, 5, 10].find((m) => m * ten >= least * (1 - 1e-9)) * ten, first = Math.ceil(a.low / step - 1e-9);

	return Array.from({ length: Math.floor(a.high / step + 1e-9) - first + 1 }, (_, k) => (first + k) * step);
}

// Of each decade as many as have room; of very many decades not each has one.
function ofDecades(a, pixels, room) {
	const [from, to] = [a.low, a.high].map(Math.log10), wide = (ratio) => Math.log10(ratio) / (to - from) * pixels;
	const of = IN_DECADE.find((m) => m.every((v, i) => wide((m[i + 1] ?? 10) / v) >= room)) ?? [1];
	const every = Math.max(1, Math.ceil(room / wide(10))), out = [];

	for (let k = Math.floor(from); k <= to; k += every)
		out.push(...of.map((m) => m * 10 ** k));
	return out.filter((v) => v >= a.low && v <= a.high);
}

// [where, label] of the ticks of an axis that is so many pixels long.
export function ticksOf(a, pixels, room) {
	const at = a.log && a.high > EVEN * a.low ? ofDecades(a, pixels, room) : even(a, pixels / room);

	return at.map((v) => [placeOf(a, v), label(a, v)]);
}

function draw(g, w, h, p, at) {
	const names = p.kinds.map(() => ({ x: 0, y: h, n: 0 }));

	g.fillStyle = colour('--line');
	at[0].forEach(([x]) => g.fillRect(Math.round(x * w), 0, 1, h));
	at[1].forEach(([y]) => g.fillRect(0, Math.round((1 - y) * h), w, 1));
	g.globalAlpha = 0.6;
	p.of.forEach((k, i) => {
		const x = placeOf(p.x_axis, p.x[i]) * w, y = (1 - placeOf(p.y_axis, p.y[i])) * h, n = names[k];

		g.fillStyle = k ? colourOf(k - 1) : colour('--band');
		g.beginPath();
		g.arc(x, y, 2, 0, 7);
		g.fill();
		Object.assign(n, { x: n.x + x, y: Math.min(n.y, y), n: n.n + 1 });
	});
	g.globalAlpha = 1;
	Object.assign(g, { font: `bold 13px ${getComputedStyle(document.body).fontFamily}`, textAlign: 'center', lineWidth: 3, strokeStyle: colour('--bg'), fillStyle: colour('--ink') });
	names.forEach(({ x, y, n }, k) => {
		if (!k || !n)
			return;
		g.strokeText(p.kinds[k], x / n, Math.max(12, y - 5));
		g.fillText(p.kinds[k], x / n, Math.max(12, y - 5));
	});
}

// p: { x_axis, y_axis, x, y, of }, and the names of kinds, of which the first are noise. { part, redraw }
export function scatter(p) {
	const lab = el('div', { class: 'lab', 'aria-hidden': 'true' }), line = el('div', { class: 'ax', 'aria-hidden': 'true' });
	let at = [[], []];
	const c = canvas(`Points by ${p.x_axis.name} and ${p.y_axis.name}; the table below has their kinds`, (g, w, h) => draw(g, w, h, p, at), { class: 'points' });
	const put = (box, side, [x, text], kind) => {
		const s = el('span', { class: kind }, text);

		s.style[side] = `${100 * x}%`;
		box.append(s);
	};
	const redraw = () => {
		const w = c.clientWidth, h = c.clientHeight;

		if (!w || !h)
			return;
		at = [ticksOf(p.x_axis, w, ROOM[0]), ticksOf(p.y_axis, h, ROOM[1])];
		line.replaceChildren();
		lab.replaceChildren();
		at[0].filter(([x, text]) => (1 - x) * w + 8 > widthOf(text) / 2).forEach((t) => put(line, 'left', t, null));
		at[1].forEach((t) => put(lab, 'bottom', t, 'yt'));
		c.redraw();
	};

	return { part: el('div', { class: 'one-plot' }, el('p', { class: 'soft' }, `up: ${p.y_axis.name}`), el('div', { class: 'tl' }, lab, el('div', { class: 'plot' }, c), el('span'), line),
		el('p', { class: 'soft xt' }, p.x_axis.name)), redraw };
}
