// SPDX-License-Identifier: GPL-2.0-or-later
// How much was used of what the job was given: four bars. What was not asked for has no bar.
import { el } from './dom.js';
import { count, mb, plural, share, time } from './format.js';

function one(name, key, used, detail) {
	const known = used !== null && !Number.isNaN(used), bar = el('i');

	bar.style.width = `${Math.min(100, 100 * used)}%`;
	return el('div', { 'data-given': key },
		el('p', { class: 'r' }, el('span', {}, el('b', {}, name), known ? [' ', el('span', { class: 'share' }, share(used))] : ''), el('span', { class: 'soft' }, detail)),
		known ? el('div', { class: 'bar', 'aria-hidden': 'true' }, bar) : null);
}

function cpu(f) {
	if (f.cpu_share === undefined)
		return one('CPU', 'cpu', NaN, 'not known');
	const used = f.cpu_s / f.wall_s;

	return one('CPU', 'cpu', f.cpu_share, `${used >= 99.95 ? count(used) : used.toFixed(f.cpu_share < 0.05 ? 2 : 1)} of ${plural(f.cores, 'core')}`);
}

function memory(f) {
	if (f.peak_mb === undefined)
		return one('Memory', 'memory', NaN, 'not known');
	const where = f.nodes > 1 ? 'fullest node' : '';

	if (f.limit_mb === undefined)
		return one('Memory', 'memory', NaN, [`peak ${mb(f.peak_mb)}`, where, 'no limit known'].filter(Boolean).join(', '));
	return one('Memory', 'memory', f.peak_mb / f.limit_mb,
		[`peak ${mb(f.peak_mb)} of ${mb(f.limit_mb)}`, where].filter(Boolean).join(', '));
}

function limit(f) {
	if (f.limit_s === undefined)
		return one('Time', 'time', NaN, `${time(f.wall_s)}, no limit known`);
	return one('Time', 'time', f.job_elapsed_s / f.limit_s, `${time(f.job_elapsed_s)} of ${time(f.limit_s)}`);
}

function gpu(f, use) {
	if (!(f.gpus > 0))
		return one('GPU', 'gpu', NaN, f.gpus === 0 ? 'none asked for' : 'none seen');
	return one('GPU', 'gpu', use ?? NaN, use === null ? `${plural(f.gpus, 'GPU')}, use not known` : `mean of ${plural(f.gpus, 'GPU')}`);
}

export function given(report) {
	const f = report.facts;

	return el('section', { class: 'used', 'aria-label': 'Used of what was given' },
		cpu(f), memory(f), limit(f), gpu(f, report.page.gpu_use));
}
