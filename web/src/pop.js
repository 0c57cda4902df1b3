// SPDX-License-Identifier: GPL-2.0-or-later
// How well ranks work in parallel: the efficiencies of POP, each with a bar, and how they were measured.
import { el, low, section } from './dom.js';
import { count } from './format.js';

const NUMBERS = [
	['load_balance', 'Load balance', 'mean by longest useful time of a rank'],
	['communication_efficiency', 'Communication efficiency', 'longest useful time by the time that its rank took but for what it had no CPU'],
	['with_cpu', 'With a CPU', 'that time by the elapsed time'],
	['parallel_efficiency', 'Parallel efficiency', 'the product: the share of the ranks\u2019 elapsed time that was useful'],
];
const MEASURED = {
	samples: (p) => `Useful time is CPU time outside of MPI, by samples: the rank with fewest had ${count(p.pop_samples)}.`,
	blocking: () => 'Useful time is all CPU time, as ranks block while they wait; time in which MPI spins counts as useful.',
};

// Whether a reader would look for it.
export const isOfRanks = ({ facts }) => facts?.has_mpi === 1 && facts.tasks > 1;

export function pop(report) {
	const p = report.pop ?? {}, known = NUMBERS.filter(([key]) => p[key] !== null && p[key] !== undefined);

	if (!known.length) {
		if (!p.reason || !isOfRanks(report))
			return null;
		return low(section('pop', 'How ranks work together', '', el('p', { class: 'none' }, `It is not known: ${p.reason}.`)));
	}
	const bar = (v) => {
		const i = el('i');

		i.style.width = `${100 * Math.min(1, v)}%`;
		return el('div', { class: 'bar', 'aria-hidden': 'true' }, i);
	};
	return low(section('pop', 'How ranks work together', 'POP; of the step with most CPU time', el('div', { class: 'wide' }, el('table', { class: 'rk' }, el('tbody', {},
		known.map(([key, label, about]) => el('tr', {}, el('th', { scope: 'row' }, label), el('td', { 'data-pop': key }, p[key].toFixed(2)),
			el('td', { class: 'dist' }, bar(p[key])), el('td', { class: 'say soft' }, about)))))),
	el('p', { class: 'words soft' }, MEASURED[p.measured_by]?.(p) ?? '', p.reason ? ` The other numbers are not known: ${p.reason}.` : '')));
}
