// SPDX-License-Identifier: GPL-2.0-or-later
// The page of jobs: which match, which lost most, and why.
import { el, name, soft } from './dom.js';
import { count, share } from './format.js';
import { address, cells, drawParts, few, filters, known, link, means, shell, site, table } from './site.js';

// Where the time of cores went, by the columns of the index, and the colours of the job page.
const STATES = [['share_cpu', 'own code', 0], ['share_kernel', 'kernel', 2], ['share_others', 'other programs', 1], ['share_quota', 'CPU quota', 7], ['share_wait', 'wait for CPU', 3],
	['share_disk', 'wait for disk', 4], ['share_asleep', 'asleep', 5], ['share_idle', 'idle', 6]];
const parts = (r) => STATES.map(([key, name, colour]) => ({ name, colour, v: r[key] ?? 0 })).filter((p) => p.v > 0);
const told = (some) => some.map((p) => `${p.name} ${share(p.v)}`).join(', ');

function went(r) {
	const some = parts(r);

	return some.length ? el('span', { class: 'tw', role: 'img', 'aria-label': told(some), title: told(some) }, some.map((p) => el('i', { class: `b${p.colour}`, 'data-v': p.v }))) : soft('not known');
}

// All rows together, by what each held: legend, and check of the bars below.
function whole(rows) {
	const some = rows.filter((r) => parts(r).length), held = some.reduce((s, r) => s + (r.held_core_s ?? 0), 0);

	if (!(held > 0))
		return null;
	const all = STATES.map(([key, name, colour]) => ({ name, colour, v: some.reduce((s, r) => s + (r[key] ?? 0) * (r.held_core_s ?? 0), 0) / held })).filter((p) => p.v > 0.0005);

	return el('div', {}, el('div', { class: 'sumbar', role: 'img', 'aria-label': `These rows by what they held: ${told(all)}` }, all.map((p) => el('i', { class: `b${p.colour}`, 'data-v': p.v, title: `${p.name} ${share(p.v)}` },
		p.v > 0.14 ? `${p.name} ${share(p.v)}` : p.v > 0.04 ? share(p.v) : ''))), el('div', { class: 'legend small' }, all.map((p) => el('span', {}, el('span', { class: `sw b${p.colour}` }), p.name))));
}

const id = (r) => (known(r.array_task) ? `${r.array_id}_${r.array_task}` : String(r.job_id));
const one = (key) => (r) => (r[key] ? link('jobs', { ...site.arguments, [key === 'account' ? 'project' : key]: key === 'name' ? `=${r[key]}` : r[key] }, name(r[key], 24)) : soft('?'));

export const columns = [
	{ key: 'job_id', head: 'Job', left: true, about: 'opens the page of the job, where it has a profile',
		kind: (r) => (r.file ? el('a', { href: address(`job/${id(r)}`) }, id(r)) : id(r)) },
	{ key: 'user', head: 'User', left: true, kind: one('user') },
	{ key: 'account', head: 'Project', left: true, kind: one('account'), rare: true, about: 'Slurm\u2019s account' },
	{ key: 'name', head: 'Name', left: true, kind: one('name') },
	{ key: 'state', head: 'State', left: true, kind: (r) => (r.state === 'COMPLETED' ? soft('completed') : (r.state ?? '?').toLowerCase().replaceAll('_', ' ')) },
	{ key: 'partition', head: 'Part.', left: true, kind: 'text', rare: true },
	{ key: 'nodes', head: 'On', unit: 'nodes \u00d7 cores', about: 'nodes, and cores of each',
		kind: (r) => [`${known(r.nodes) ? count(r.nodes) : '?'} \u00d7 ${known(r.cores) && r.nodes ? few(r.cores / r.nodes).replace(/\.0+$/, '') : '?'}`, r.gpus ? soft(` +${count(r.gpus)}G`) : ''] },
	{ key: 'start', head: 'Started', kind: 'when' },
	{ key: 'elapsed_s', head: 'Ran', unit: 'h:min', kind: 'duration' },
	{ key: 'limit_share', head: 'Limit', unit: '% used', kind: 'part', rare: true, about: 'of the time limit' },
	{ key: 'cpu_share', head: 'CPU', unit: '%', kind: 'part', about: 'CPU time of what the cores could have worked' },
	{ key: 'memory_share', head: 'Mem', unit: '% of asked', kind: 'part', rare: true, about: 'most at once of what was asked for, on the fullest node' },
	{ key: 'gpu_share', head: 'GPU', unit: '%', kind: 'part', rare: true, about: 'mean use' },
	{ key: 'io_bytes_s', head: 'I/O', unit: 'MB/s', kind: 'rate', rare: true, about: 'read and written, over the time that it ran' },
	{ key: 'went', head: 'Where the time went', left: true, fixed: true, kind: went, about: 'of the time of all cores that the job held' },
	{ key: 'lost_core_s', head: 'Lost', unit: 'core-h', kind: 'hours', about: 'what would come back if its findings were followed, counted once where they overlap' },
	{ key: 'worst_rule', head: 'Worst finding', left: true, cut: true, kind: (r) => [r.worst_rule === 'none' || r.worst_rule === 'no profile' ? soft(r.worst_rule) : [el('b', {}, r.worst_rule), ' ', name(r.worst_text ?? '', 60)],
		r.findings > 1 ? soft(` +${r.findings - 1}`) : ''] },
];

export function jobs({ jobs: d }) {
	const n = d.rows.length, all = d.matching;

	shell('Jobs', [el('b', {}, `${count(all)} job${all === 1 ? '' : 's'}`), `: ${cells.hours(d.held_core_s)} core-h held, `, el('b', {}, `${cells.hours(d.lost_core_s)} lost`),
		d.held_core_s > 0 && known(d.lost_core_s) ? ` (${share(d.lost_core_s / d.held_core_s)})` : '',
		d.without_profile_core_s > 0 ? `; ${share(d.without_profile_core_s / d.held_core_s)} of what was held has no profile: nobody knows what of that was lost` : ''],
	filters('7d'), whole(d.rows), n ? table('Jobs', columns, d.rows, { sort: 'lost_core_s' }) : el('p', { class: 'none' }, 'No job matches. ', link('jobs', { since: 'all' }, 'All jobs of all times')),
	all > n ? el('p', { class: 'soft' }, `These are the first ${count(n)} of ${count(all)}. `, link('jobs', { ...site.arguments, all: 1 }, 'All of them')) : null,
	means(columns));
	drawParts(document.body);
	return { jobs: d };
}
