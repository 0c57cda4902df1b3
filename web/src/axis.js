// SPDX-License-Identifier: GPL-2.0-or-later
// The axis of time below plots.
import { el, widthOf } from './dom.js';

const ROOM = 100; // pixels of a tick with its text
const TICK = 26; // of half a tick's text, and what is between it and the text of an end
const GAP = 4; // between a tick's text and the instant's
const PAPER = 460; // pixels of the axis on paper, whose layout comes when ticks are chosen

export function axis(view, clock, paper = PAPER) {
	const line = el('div', { class: 'ax', 'aria-hidden': 'true' });
	const now = el('span', { class: 'now' });
	const put = (place, text, kind) => {
		const s = el('span', { class: kind }, text);

		s.style.left = `${100 * place}%`;
		line.append(s);
	};
	// Ticks that the instant would cover in part are not shown.
	const clear = () => {
		const over = now.getBoundingClientRect();

		for (const s of line.children) {
			const box = s.getBoundingClientRect(), isUnder = !now.hidden && box.right > over.left - GAP && box.left < over.right + GAP;

			s.classList.toggle('off', s !== now && isUnder);
		}
	};

	let isPaper = false;
	const lay = () => {
		const width = isPaper ? paper : line.clientWidth || 800;
		const { ticks, step } = clock.ticks(view.from, view.to, Math.max(2, Math.floor(width / ROOM)));
		const ofEnds = step / 10, ends = [view.from, view.to].map((t) => clock.text(t, ofEnds)); // no round instants
		const side = (Math.max(...ends.map(widthOf)) + TICK) / width;

		line.replaceChildren();
		put(0, ends[0], 'a');
		for (const t of ticks)
			if (view.place(t) > side && view.place(t) < 1 - side)
				put(view.place(t), clock.tick(t, step));
		put(1, ends[1], 'z');
		line.append(now);
	};

	view.onShow(lay);
	for (const [event, on] of [['beforeprint', true], ['afterprint', false]])
		addEventListener(event, () => {
			isPaper = on;
			lay();
		});
	view.onMove(() => {
		const at = view.place(view.at);

		now.hidden = !(at >= 0 && at <= 1);
		if (!now.hidden) {
			now.textContent = clock.at(view.at);
			const half = (widthOf(now.textContent) / 2 + GAP) / (line.clientWidth || 800);

			now.style.left = `${100 * Math.min(1 - half, Math.max(half, at))}%`;
		}
		clear();
	});
	return line;
}
