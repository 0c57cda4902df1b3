// SPDX-License-Identifier: GPL-2.0-only
// The axis of time below plots.
import { el } from './dom.js';

const ROOM = 100; // pixels of a tick with its text

export function axis(view, clock) {
	const line = el('div', { class: 'ax', 'aria-hidden': 'true' });
	const now = el('span', { class: 'now' });
	const put = (place, text, kind) => {
		const s = el('span', { class: kind }, text);

		s.style.left = `${100 * place}%`;
		line.append(s);
	};

	view.onShow(() => {
		const width = line.clientWidth || 800;
		const { ticks, withSeconds } = clock.ticks(view.from, view.to, Math.max(2, Math.floor(width / ROOM)));
		const side = 66 / width, ends = withSeconds || !clock.isOfDay || view.to - view.from < 1200;

		line.replaceChildren();
		put(0, clock.text(view.from, ends), 'a');
		for (const t of ticks)
			if (view.place(t) > side && view.place(t) < 1 - side)
				put(view.place(t), clock.text(t, withSeconds));
		put(1, clock.text(view.to, ends), 'z');
		line.append(now);
	});
	view.onMove(() => {
		const at = view.place(view.at), on = at >= 0 && at <= 1;

		now.hidden = !on;
		if (!on)
			return;
		now.textContent = clock.text(view.at, true);
		now.style.left = `${100 * Math.min(0.97, Math.max(0.03, at))}%`;
	});
	return line;
}
