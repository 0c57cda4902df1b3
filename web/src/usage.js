// SPDX-License-Identifier: GPL-2.0-or-later
// The pages with a row per project, user or the like: what they held and lost, and PIKA's issues of them.
import { el, name, soft } from './dom.js';
import { count, share } from './format.js';
import { address, cells, filters, known, link, means, shell, site, table } from './site.js';

const WORDS = ['project', 'user', 'name', 'program', 'partition', 'state', 'node'];
const NEXT = { project: 'user', user: 'name', name: '', program: '', partition: 'user', state: 'user', node: '' };
const EXACT = { name: true, program: true };

// Of a row: the same page one step further, and at its end its jobs.
function follow(by, key) {
	const { by: _, sort: __, ...args } = site.arguments, chosen = { ...args, [by]: EXACT[by] ? `=${key}` : key };

	return NEXT[by] ? link(site.page, { ...chosen, by: NEXT[by] }, name(key, 40)) : link('jobs', chosen, name(key, 40));
}

const tabs = (by) => el('p', { class: 'choice' }, WORDS.map((w) => el('a', { href: address(site.page, { ...site.arguments, by: w, sort: null }), 'aria-current': w === by ? 'true' : null }, `by ${w}`)));

const first = (by) => ({ key: by, head: by[0].toUpperCase() + by.slice(1), left: true, fixed: true, kind: (r) => (r[by] ? follow(by, r[by]) : soft('not known')) });
const money = (v) => (known(v) ? count(Math.round(v)) : '?');

const ofUsage = (by, currency) => [first(by),
	{ key: 'jobs', head: 'Jobs', kind: 'count' },
	{ key: 'held_core_s', head: 'Held', unit: 'core-h', kind: 'hours', about: 'cores by the time that they were held' },
	{ key: 'cpu_share', head: 'CPU', unit: '% of held', kind: 'part', fixed: true, about: 'CPU time of what jobs with a profile held' },
	{ key: 'lost_core_s', head: 'Lost', unit: 'core-h', kind: 'hours', about: 'what would come back if findings were followed, counted once where they overlap' },
	{ key: 'lost_share', head: 'Lost', unit: '% of its held', kind: 'part', fixed: true },
	{ key: 'of_all_lost', head: 'Lost', unit: '% of all', kind: 'part', fixed: true },
	{ key: 'without_profile', head: 'No profile', unit: '% of held', kind: 'part', fixed: true, about: 'nobody knows what of this was lost' },
	{ key: 'energy_kwh', head: 'Energy', unit: 'kWh', kind: 'number', rare: true, fixed: true },
	{ key: 'money_lost', head: 'Lost', unit: currency ?? '', kind: (r) => money(r.money_lost), rare: true, fixed: true },
	{ key: 'findings', head: 'Findings', kind: 'count' },
	{ key: 'failed', head: 'Failed', unit: 'jobs', kind: 'count', rare: true },
	{ key: 'max_nodes', head: 'Nodes', unit: 'most', kind: 'count', rare: true },
	{ key: 'max_pending_s', head: 'Pending', unit: 'longest', kind: 'duration', rare: true },
];

const ofIssues = (by) => [first(by),
	{ key: 'runs', head: 'Runs', kind: 'count' },
	...[['ict', 'ICT', 'core-h', 'hours', 'idle CPU time'], ['icr', 'ICR', '%', 'part', 'idle CPU time of the time of all cores'], ['max_ucr', 'UCR', 'most', 'number', 'cores unused'],
		['max_cli', 'CLI', 'most', 'number', 'CPU load imbalance'], ['max_iob', 'IOB', 'most', 'number', 'periods of blocking I/O'], ['max_ioc', 'IOC', 'most', 'number', 'I/O congestion'],
		['max_ml', 'ML', 'most', 'number', 'memory leak'], ['igt', 'IGT', 'GPU-h', 'hours', 'idle GPU time'], ['igr', 'IGR', '%', 'part', 'idle GPU time of the time of all GPUs'],
		['max_ugr', 'UGR', 'most', 'number', 'GPUs unused'], ['max_gli', 'GLI', 'most', 'number', 'GPU load imbalance'], ['max_so', 'SO', 'most', 'number', 'periods of synchronous offloading']]
		.map(([key, head, unit, kind, about]) => ({ key, head, unit, kind, about, rare: !/^ic/.test(key) })),
];

function page(title, about, d, columns, sort) {
	shell(title, about, filters('30d'), tabs(d.by), d.rows.length ? table(title, columns, d.rows, { sort, sum: d.sum }) :
		el('p', { class: 'none' }, 'No job matches. ', el('a', { href: address(site.page, { since: 'all' }) }, 'All jobs of all times')), means(columns));
}

export function usage({ usage: d }) {
	const s = d.sum;

	page('Usage', [el('b', {}, `${count(s.jobs)} jobs`), ` held ${cells.hours(s.held_core_s)} core-h, `, el('b', {}, `${cells.hours(s.lost_core_s)} were lost`),
		known(s.lost_share) ? ` (${share(s.lost_share)})` : '', s.without_profile > 0 ? `; ${share(s.without_profile)} of what was held has no profile` : ''], d, ofUsage(d.by, d.currency), 'lost_core_s');
	return { usage: d };
}

export function issues({ issues: d }) {
	page('PIKA\u2019s issues', [el('b', {}, `${count(d.sum.runs)} jobs`), ' that completed and ran an hour or more on two cores or more: ', el('b', {}, `${cells.hours(d.sum.ict)} core-h idle`)], d, ofIssues(d.by), 'ict');
	return { issues: d };
}
