// SPDX-License-Identifier: GPL-2.0-or-later
// Who differs from whom: the units with the least and the most of each quantity, and all between.
import { canvas, colour, el, low, name, section, soft } from './dom.js';
import { count, mb, share, time } from './format.js';

const KINDS = {
	cpu_s: ['CPU time', time], wait_s: ['Wait for CPU', time], disk_wait_s: ['Wait for disk', time],
	peak_mb: ['Peak memory', mb], read_mb: ['Read', mb], write_mb: ['Written', mb], net_tx_mb: ['Sent', mb],
};

function ticks(q) {
	return canvas(`From 0 to the highest: ${q.units} values`, (g, w, h) => {
		g.strokeStyle = colour('--line');
		g.beginPath();
		g.moveTo(0, h - 2.5);
		g.lineTo(w, h - 2.5);
		g.stroke();
		g.strokeStyle = colour('--ink');
		g.globalAlpha = 0.5;
		for (const v of q.sample) {
			const x = Math.max(0.5, Math.min(w - 0.5, v / q.highest.value * w));

			g.beginPath();
			g.moveTo(x, 3);
			g.lineTo(x, h - 3);
			g.stroke();
		}
	}, { class: 'ticks' });
}

const times = (v) => (v < 9.95 ? v.toFixed(1) : count(v));

// CPU time of ranks that may wait by spinning says nothing of how equal their work is.
const maySpin = (report) => report.facts?.has_mpi === 1 && report.pop?.measured_by !== 'blocking';

function spoken(q, of, isWork) {
	const mean = q.mean / q.highest.value, part = 1 / (mean * q.units);

	if (!isWork)
		return 'MPI that spins counts, too';
	if (!(mean > 0 && mean <= 1))
		return '';
	if (q.highest.value <= 1.1 * q.median && q.lowest.value >= 0.9 * q.median)
		return 'all alike';
	if (q.units > 2 && part > 0.5)
		return [`${of} `, name(q.highest.name, 16), ` has ${share(part)}`];
	if (q.median > 0 && q.highest.value > 3 * q.median)
		return `highest is ${times(q.highest.value / q.median)} times the median`;
	return `mean is ${Math.round(100 * mean)} % of the highest`;
}

export function spread(report, view) {
	const s = report.page.spread, redraws = [];

	if (!s.quantities.length)
		return null;
	const who = (e, text) => el('td', {}, `${text(e.value)} `, soft('(', name(e.name, 16), e.node ? [' ', name(e.node, 16)] : '', ')'));
	const rows = s.quantities.filter((q) => KINDS[q.key]).map((q) => {
		const [label, text] = KINDS[q.key], c = ticks(q);

		redraws.push(c.redraw);
		return el('tr', { 'data-spread': q.key }, el('th', { scope: 'row' }, label), who(q.lowest, text), el('td', {}, text(q.median)), who(q.highest, text),
			el('td', { class: 'dist' }, c), el('td', { class: 'sp soft' }, spoken(q, s.of, q.key !== 'cpu_s' || !maySpin(report))));
	});
	const { units, sample: { length: sample } } = s.quantities[0];
	const part = low(section('spread', 'Who differs from whom', [`${count(units)} ${s.of}s`, sample < units ? `; ${sample} of them are drawn as ticks, evenly from the lowest to the highest` : ''].join(''),
		el('div', { class: 'wide' }, el('table', { class: 'rk' }, el('thead', {}, el('tr', {}, el('td'), ['lowest', 'median', 'highest'].map((h) => el('th', { scope: 'col' }, h)),
			el('th', { scope: 'col', class: 'dist' }, '0 to highest'), el('th', { scope: 'col', class: 'sp' }, 'spread'))), el('tbody', {}, rows)))));

	view.onShow(() => redraws.forEach((f) => f()));
	return { part, redraw: () => redraws.forEach((f) => f()) };
}
