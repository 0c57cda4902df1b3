// SPDX-License-Identifier: GPL-2.0-only
// The axis of time below plots.
import { el } from './dom.js';

const ROOM = 100; // pixels of a tick with its text
const GAP = 4; // between a tick's text and the instant's

export function axis(view, clock) {
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

	view.onShow(() => {
		const width = line.clientWidth || 800;
		const { ticks, step } = clock.ticks(view.from, view.to, Math.max(2, Math.floor(width / ROOM)));
		const side = 66 / width, ofEnds = step / 10; // the ends are no round instants

		line.replaceChildren();
		put(0, clock.text(view.from, ofEnds), 'a');
		for (const t of ticks)
			if (view.place(t) > side && view.place(t) < 1 - side)
				put(view.place(t), clock.text(t, step));
		put(1, clock.text(view.to, ofEnds), 'z');
		line.append(now);
	});
	view.onMove(() => {
		const at = view.place(view.at);

		now.hidden = !(at >= 0 && at <= 1);
		if (!now.hidden) {
			now.textContent = clock.at(view.at);
			now.style.left = `${100 * Math.min(0.97, Math.max(0.03, at))}%`;
		}
		clear();
	});
	return line;
}
