// SPDX-License-Identifier: GPL-2.0-or-later
// Elements. Text never becomes markup: children that are strings are text nodes of plain text.
import { plain } from './format.js';

// el('td', { class: 'num', onclick: f }, 'text', child, [children])
export function el(tag, attributes = {}, ...children) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes)) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith('on'))
			e.addEventListener(name.slice(2), value);
		else
			e.setAttribute(name, value === true ? '' : plain(value));
	}
	e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined)
		.map((c) => (c instanceof Node ? c : document.createTextNode(plain(c)))));
	return e;
}

// A name that a user chose: its direction is its own, and what is long is cut (with all of it as title).
export function name(text, most = 80) {
	const s = plain(text), chars = [...s];

	if (chars.length <= most)
		return el('bdi', {}, s);
	return el('bdi', { title: chars.slice(0, 2000).join('') }, `${chars.slice(0, most).join('')}\u2026`);
}

export const soft = (...children) => el('span', { class: 'soft' }, ...children);
export const num = (...children) => el('td', { class: 'num' }, ...children);

export function colour(variable) {
	return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

// Of the lines and points of several things: web/page.css has these, as user/view/svg.c for print.
export const colourOf = (i) => colour(`--c${i % 8}`);

// A section with its heading and a note at the right; its children follow.
export function section(id, title, note, ...children) {
	return el('section', { id, 'aria-labelledby': `h-${id}` },
		el('div', { class: 'head' }, el('h2', { id: `h-${id}` }, title), note instanceof Node ? note : soft(note ?? '')),
		...children);
}

// A part that is below the first screen; null stays null.
export function low(part) {
	part?.classList.add('low');
	return part;
}

// A table that is seen; rows: arrays of cells, the first is the row's heading. A td or th stays as it is. label: of a table
// that may be wider than the page.
export function grid(head, rows, more = '', label = '') {
	const isCell = (c) => c instanceof Element && /^T[DH]$/.test(c.tagName);

	return el('div', { class: 'wide', ...(label ? { tabindex: 0, role: 'region', 'aria-label': `Table: ${label}` } : {}) }, el('table', { class: `rk ${more}` },
		el('thead', {}, el('tr', {}, head.map((h, i) => (isCell(h) ? h : i || h ? el('th', { scope: 'col' }, h) : el('td'))))),
		el('tbody', {}, rows.map(([first, ...cells]) => el('tr', {}, el('th', { scope: 'row' }, first), cells.map((c) => (isCell(c) ? c : el('td', {}, c))))))));
}

// How wide a text is in a chart's font, in pixels.
export function widthOf(text) {
	const g = widthOf.g ??= document.createElement('canvas').getContext('2d');

	g.font = `11px ${getComputedStyle(document.body).fontFamily}`;
	return g.measureText(plain(text)).width;
}

// Shows e only where the box around it has so many pixels, and less than `below`: on paper, too.
export function fits(e, pixels, below = 1e6) {
	e.style.maxWidth = `clamp(0px, 1000 * min(100% - ${Math.ceil(pixels)}px, ${Math.ceil(below)}px - 100%), 1000px)`;
	e.classList.add('fits');
	return e;
}

const ROWS = 100; // of a table; --json has the others

// The table behind a chart, made when it is opened: head is texts, rows() gives arrays of cells.
export function table(summary, head, rows, source, label, whole = 'jobprof report --json') {
	const inside = el('div', { class: 'in', tabindex: 0, role: 'region', 'aria-label': `Table: ${(label ?? summary).replace('Table: ', '')}` });
	const d = el('details', {}, el('summary', {}, summary), inside);

	d.addEventListener('toggle', () => {
		if (!d.open || inside.childNodes.length)
			return;
		const all = rows();

		inside.append(el('table', { class: 'dt' },
			el('thead', {}, el('tr', {}, head.map((h) => el('th', { scope: 'col' }, h)))),
			el('tbody', {}, all.slice(0, ROWS).map((r) => el('tr', {}, r.map((c) => el('td', {}, c)))))));
		if (all.length > ROWS)
			inside.append(el('p', { class: 'soft' }, `${all.length - ROWS} more rows: ${whole}`));
		if (source)
			inside.append(source.nodeType ? source : el('p', { class: 'soft' }, source));
	});
	return d;
}

// A canvas as large as its box in device pixels; draw(g, width, height) in CSS pixels.
export function canvas(label, draw, attributes = {}) {
	const c = el('canvas', { role: 'img', 'aria-label': label, ...attributes });

	c.redraw = () => {
		const ratio = window.devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight, g = c.getContext('2d');

		if (!w || !h)
			return;
		c.width = Math.round(w * ratio);
		c.height = Math.round(h * ratio);
		g.setTransform(c.width / w, 0, 0, c.height / h, 0, 0);
		draw(g, w, h);
	};
	return c;
}
