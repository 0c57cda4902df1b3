// SPDX-License-Identifier: GPL-2.0-or-later
// Energy: the best estimate of the job, its bounds, and the part that idle cores would take, too.
import { el, low, section } from './dom.js';
import { energy as text, roundUp } from './format.js';

function line(label, key, value, low, high, top) {
	const range = el('i'), tick = el('b');

	if (low !== null && high !== null) {
		range.style.left = `${100 * low / top}%`;
		range.style.width = `${100 * (high - low) / top}%`;
	}
	tick.style.left = `${100 * value / top}%`;
	return [el('span', {}, label), el('span', { class: 'rg', 'aria-hidden': 'true' }, range, tick),
		el('span', { class: 'num', 'data-energy': key }, el('b', {}, text(value)), low !== null ? el('span', { class: 'soft' }, ` (${text(low)} to ${text(high)})`) : '')];
}

export function energy(report) {
	const f = report.facts;

	if (f.energy_j === undefined)
		return null;
	const least = f.energy_low_j ?? null, high = f.energy_high_j ?? null;
	// The axis ends at a round number of the unit that is shown.
	const most = high ?? f.energy_j, by = most >= 360000 ? 3.6e6 : 1000, top = roundUp(most / by) * by;
	const hasParts = f.energy_static_j !== undefined, rows = [line('Whole job', 'all', f.energy_j, least, high, top)];

	if (hasParts)
		rows.push(line('idle cores', 'static', f.energy_static_j, null, null, top), line('running work', 'dynamic', f.energy_j - f.energy_static_j, null, null, top));
	return low(section('energy', 'Energy', 'best estimate (grey: its bounds)', el('div', { class: 'en' }, rows, el('span'),
		el('span', { class: 'pct' }, el('span', {}, '0'), el('span', { class: 'z' }, text(top))), el('span')),
	hasParts && least !== null ? el('p', { class: 'words soft' }, 'The bounds are of the whole job: its file has none of idle cores and of running work.') : null));
}
