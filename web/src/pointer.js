// SPDX-License-Identifier: GPL-2.0-or-later
// One way to point at all plots: the pointer moves the instant, a drag zooms, a click pins the instant or
// does what the plot has for it, a double click shows the whole job,
// unless the plot has another use for two clicks.
import { el } from './dom.js';

const DRAG = 6; // pixels, below which it is a click

export function pointAt(plot, view, { click, hover, leave, double = () => view.reset() } = {}) {
	const cursor = el('i', { class: 'cur' }), chosen = el('i', { class: 'sel' });
	let begin = null;
	const place = (e) => {
		const box = plot.getBoundingClientRect();

		return Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
	};

	plot.append(chosen, cursor);
	plot.addEventListener('pointermove', (e) => {
		const at = place(e);

		view.move(view.time(at));
		hover?.(e);
		if (begin && Math.abs(e.clientX - begin.x) > DRAG) {
			chosen.style.display = 'block';
			chosen.style.left = `${100 * Math.min(at, begin.at)}%`;
			chosen.style.width = `${100 * Math.abs(at - begin.at)}%`;
		}
	});
	plot.addEventListener('pointerdown', (e) => {
		if (e.pointerType === 'mouse' && e.button === 0)
			begin = { x: e.clientX, at: place(e) };
	});
	plot.addEventListener('pointerup', (e) => {
		const from = begin;

		begin = null;
		chosen.style.display = 'none';
		if (from && Math.abs(e.clientX - from.x) > DRAG)
			view.zoom(view.time(from.at), view.time(place(e)));
		else if (click)
			click(e);
		else
			pin(view, view.time(place(e)));
	});
	plot.addEventListener('pointerleave', () => {
		begin = null;
		chosen.style.display = 'none';
		leave?.();
		view.move(view.pin);
	});
	plot.addEventListener('dblclick', double);
	view.onMove(() => {
		const at = view.place(view.at), on = at >= 0 && at <= 1;

		cursor.style.display = on ? 'block' : 'none';
		if (on)
			cursor.style.left = `${100 * at}%`;
	});
}

// Up and Down choose the row before or after the one that is chosen, where the box of rows has the focus.
export function onArrows(box, rows, view, pick) {
	box.tabIndex = 0;
	box.setAttribute('role', 'group');
	box.setAttribute('aria-label', `Up and Down choose a ${rows.of}`);
	box.addEventListener('keydown', (e) => {
		const by = { ArrowUp: -1, ArrowDown: 1 }[e.key];

		if (!by || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const row = Math.min(rows.n - 1, Math.max(0, view.row + by));

		if (row !== view.row)
			pick(row);
		e.preventDefault();
	});
}

export function pin(view, t) {
	const same = Math.abs(view.place(view.pin) - view.place(t)) < 0.004;

	view.pin = same ? NaN : t;
	view.show();
	view.move(view.pin);
}
