// SPDX-License-Identifier: GPL-2.0-or-later
// Small lines and bars in cells of tables. Their numbers are in the name, too, for who does not see them.
const NS = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
	const e = document.createElementNS(NS, tag);

	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, String(v));
	e.append(...children.flat().filter((c) => c !== null && c !== undefined));
	return e;
}

const known = (v) => v !== null && v !== undefined;
const round = (v) => v.toFixed(1);

function picture(kind, w, h, label, ...children) {
	return svg('svg', { class: kind, width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': label }, svg('title', {}, label), ...children);
}

// The line through the values, from 0 to the highest of them, in pieces where some are not known: "M0.0 13.0L7.3 2.0".
export function path(values, w, h) {
	const top = Math.max(1e-12, ...values.filter(known)), step = w / Math.max(1, values.length - 1);
	let isDrawn = false;

	return values.map((v, i) => {
		const text = known(v) ? `${isDrawn ? 'L' : 'M'}${round(i * step)} ${round(h - 1 - (h - 2) * v / top)}` : '';

		isDrawn = known(v);
		return text;
	}).join('');
}

export function spark(values, label, w = 66, h = 14) {
	const last = values.at(-1), top = Math.max(1e-12, ...values.filter(known));

	return picture('spark', w, h, label, svg('path', { d: path(values, w, h) }), known(last) ? svg('circle', { cx: w, cy: round(h - 1 - (h - 2) * last / top), r: 1.7 }) : null);
}

// A bar for each week; the line is the contact, behind the bar number `at`.
export function weeks(values, at, label, w = 84, h = 16) {
	const top = Math.max(1e-12, ...values.filter(known)), wide = w / values.length;

	return picture('ba', w, h, label, values.map((v, i) => {
		const height = Math.max(1, (h - 1) * v / top);

		return known(v) ? svg('rect', { class: i < at ? 'b' : 'f', x: round(i * wide + 0.5), y: round(h - height), width: round(wide - 1.5), height: round(height) }) : null;
	}), svg('line', { x1: round(at * wide), x2: round(at * wide), y1: 0, y2: h }));
}
