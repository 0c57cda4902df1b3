// SPDX-License-Identifier: GPL-2.0-or-later
// On paper the colours are the light ones; redraw() draws canvases anew.

export function paper(redraw) {
	const set = (on) => {
		document.documentElement.classList.toggle('paper', on);
		redraw();
	};

	addEventListener('beforeprint', () => set(true));
	addEventListener('afterprint', () => set(false));
	matchMedia('(prefers-color-scheme:dark)').addEventListener('change', redraw);
}
