// SPDX-License-Identifier: GPL-2.0-or-later
// The page of usage: who used the machine, where core time gets lost, and how well jobs used what they held. What is chosen is in
// the address: a bar keeps its jobs, a row leads into its own parts.
import { el, name, soft } from './dom.js';
import { count, plural, share } from './format.js';
import { address, cells, drawParts, filters, known, link, means, shell, site, table } from './site.js';
import { coordinated } from './sees.js';
import { spark } from './spark.js';

const WORDS = ['project', 'user', 'name', 'program', 'partition', 'state', 'node'];
const NEXT = { project: 'user', user: 'name', partition: 'user', state: 'user', cluster: 'project' };
const EXACT = { name: true, program: true };
const PATH = ['cluster', 'partition', 'state', 'project', 'user', 'name', 'program'];
const BIN = 5; // percent

const money = (v) => (known(v) ? count(Math.round(v)) : '?');

// The same page with other arguments; null takes one away.
const to = (args) => address(site.page, { ...site.arguments, ...args });

// Of a row: the same page one step further, and at its end its jobs.
export function follow(by, r) {
	const key = r[by], { by: _, sort: __, ...args } = site.arguments, chosen = { ...args, [by]: EXACT[by] ? `=${key}` : key };

	if (by === 'node' && r.cluster)
		chosen.cluster = r.cluster;
	return NEXT[by] ? link(site.page, { ...chosen, by: NEXT[by] }, name(key, 40)) : link('jobs', chosen, name(key, 40));
}

export const tabs = (by) => el('p', { class: 'choice', role: 'group', 'aria-label': 'Rows' }, WORDS.map((w) => el('a', { href: to({ by: w, sort: null }), 'aria-current': w === by ? 'true' : null }, `by ${w === 'name' ? 'job name' : w}`)));

export const first = (by) => ({ key: by, head: by === 'name' ? 'Job name' : by[0].toUpperCase() + by.slice(1), left: true, kind: (r) => (r[by] ? follow(by, r) : soft('not known')),
	about: 'leads one level down: of a project to its users, of a user to the names of jobs, of a name to the jobs' });

// ---- where one is

// What was chosen on the way here: [['project', 'p1'], ['user', 'u7']].
export const chosen = (args) => PATH.filter((k) => args[k]).map((k) => [k, args[k].replace(/^=/, '')]);

// One level up: without the last choice, by its like. null: this is the top.
export function above(args) {
	const last = chosen(args).at(-1);

	return last ? { ...args, [last[0]]: null, by: last[0] } : null;
}

function crumbs(d) {
	const path = chosen(site.arguments), { by: _, sort: __, ...args } = site.arguments, up = above(site.arguments);
	const noun = `${count(d.groups)} ${d.by === 'name' ? 'job name' : d.by}${d.groups === 1 ? '' : 's'}`;

	if (up)
		document.addEventListener('keydown', (e) => {
			if (e.key === 'u' && !e.altKey && !e.ctrlKey && !e.metaKey && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName))
				location.href = to(up);
		});
	if (!path.length)
		return el('nav', { class: 'crumb', 'aria-label': 'Where' }, soft(`${noun}: a click goes into one. `), soft(el('span', { class: 'sw k1' }), 'held ', el('span', { class: 'sw k3' }), 'lost, in the bars above'));
	const cut = (i) => Object.fromEntries(path.slice(i).map(([k]) => [k, null]));

	return el('nav', { class: 'crumb', 'aria-label': 'Where' }, el('a', { href: to({ ...cut(0), by: path[0][0] }) }, `all ${path[0][0] === 'name' ? 'job names' : `${path[0][0]}s`}`),
		path.map(([k, v], i) => [soft(' \u203a '), i === path.length - 1 ? el('b', {}, name(v, 40)) : el('a', { href: to({ ...cut(i + 1), by: path[i + 1][0] }), title: k }, name(v, 40))]),
		soft(` \u203a ${noun} \u00b7 `), link('jobs', args, 'their jobs'), site.sees_all && args.user && !args.user.includes(',') && !site.is_static ? [soft(' \u00b7 '), link('home', { user: args.user }, 'what to change first')] : '', el('span', { class: 'soft keyed' }, ' \u00b7 ', el('kbd', {}, 'u'), ' up'));
}

// ---- histograms

// The bins that a range of percent has, as [from, to]; null: none is chosen. "40-45" is [8, 9], "95-" [19, 20].
export function bins(range) {
	const [, from, , end] = /^([\d.]+)(-([\d.]*))?$/.exec(range ?? '') ?? [];

	if (from === undefined)
		return null;
	return [Math.min(19, Math.floor(Number(from) / BIN)), end ? Math.max(1, Math.min(20, Math.ceil(Number(end) / BIN))) : 20];
}

// The range of a bin, as the verb's options have it: the last one has no end, as jobs may use more than all.
export const rangeOf = (i) => (i === 19 ? '95-' : `${i * BIN}-${i * BIN + BIN}`);

const bar = (part, whole) => el('i', { 'data-v': whole > 0 ? part / whole : 0 });

function bin(option, [held, lost, jobs], i, at, top, all) {
	const isIn = at && i >= at[0] && i < at[1];
	const t = `${i * BIN} to ${i * BIN + BIN} %: ${plural(jobs, 'job')}, ${cells.hours(held)} core-h (${share(all > 0 ? held / all : null)}), ${cells.hours(lost)} lost`;

	return el('a', { href: to({ [option]: isIn && at[1] - at[0] === 1 ? null : rangeOf(i) }), title: t, 'aria-label': t, 'aria-current': isIn ? 'true' : null }, bar(held - lost, top), bar(lost, top));
}

function histogram(option, title, rows, below, words) {
	const at = bins(site.arguments[option]), top = Math.max(...rows.map((b) => b[0])), sum = (some) => some.reduce((s, b) => s + b[0], 0), all = sum(rows);

	return el('section', { 'aria-label': title }, el('div', { class: 'head' }, el('h2', { class: 'h3' }, title), el('span', { class: 'soft small' }, at ? ['only ', at[0] * BIN, at[1] === 20 ? ' % and more ' : ` to ${at[1] * BIN} % `,
		el('a', { href: to({ [option]: null }) }, 'all')] : all > 0 ? `${share(sum(rows.slice(0, below)) / all)} of core-hours ${words}` : 'not known')),
	el('div', { class: at ? 'hs some' : 'hs', role: 'group', 'aria-label': title }, rows.map((b, i) => bin(option, b, i, at, top, all))),
	el('div', { class: 'axis' }, el('span', { class: 'a' }, '0'), [25, 50, 75].map((x) => el('span', { class: `q${x}` }, x)), el('span', { class: 'z' }, '100 %')));
}

const histograms = (h) => el('div', { class: 'hists' }, histogram('cpu-share', 'CPU used of held, by core-hours', h.cpu, 12, 'below 60 %'),
	histogram('memory-share', 'Memory used of asked', h.memory, 10, 'below half'), histogram('limit-share', 'Time used of limit', h.limit, 10, 'below half'));

// ---- the table

const LOST = 'core time that would come back if the findings were followed, counted once where they overlap';

const bold = (key) => (r) => el('b', {}, cells.hours(r[key]));
const part = (r) => (known(r.lost_share) ? [el('span', { class: 'shr', 'data-v': Math.min(1, r.lost_share) }), share(r.lost_share)] : '?');

function overTime(r) {
	const points = r.lost_share_points;

	return points?.some(known) ? spark(points, `lost share over time: ${points.map((p) => (known(p) ? share(p) : 'not known')).join(', ')}`) : '';
}

export const ofUsage = (by, currency) => [first(by),
	{ key: 'cluster', head: 'Cluster', left: true, kind: 'text', rare: true, fixed: true },
	{ key: 'jobs', head: 'Jobs', kind: 'count', about: 'that began in this time; each task of an array is one' },
	{ key: 'max_nodes', wide: true, head: 'Nodes', unit: 'most', kind: 'count', rare: true, about: 'of one job' },
	{ key: 'max_cores', wide: true, head: 'Cores', unit: 'most', kind: 'count', rare: true, about: 'of one job' },
	{ key: 'max_pending_s', wide: true, head: 'Pending', unit: 'longest, h:min', kind: 'duration', rare: true, about: 'the longest time that a job waited in the queue' },
	{ key: 'run_s', wide: true, head: 'Run time', unit: 'all, h', kind: 'hours', about: 'sum of the jobs\u2019 run times' },
	{ key: 'footprint_share', wide: true, fixed: true, head: 'Footprints', unit: '% of jobs', kind: (r) => (r.jobs ? share(r.footprints / r.jobs) : '?'), about: 'jobs whose footprint is known; the others ran shortly or have no profile' },
	{ key: 'held_core_s', head: 'Held', unit: 'core-h', kind: 'hours', about: 'cores by the time that they were held' },
	{ key: 'cpu_share', head: 'CPU', unit: '% of held', kind: 'part', about: 'CPU time of what jobs with a profile held' },
	{ key: 'lost_core_s', head: 'Lost', unit: 'core-h', kind: bold('lost_core_s'), about: LOST },
	{ key: 'lost_share', head: 'Share', unit: '% of its held', left: true, kind: part, about: 'lost of held' },
	{ key: 'of_all_lost', wide: true, head: 'Of all', unit: '% of lost', kind: (r) => (known(r.of_all_lost) ? share(r.of_all_lost) : '?'), about: 'of what all rows lost' },
	{ key: 'without_profile', wide: true, head: 'No profile', unit: '% of held', kind: (r) => (known(r.without_profile) ? share(r.without_profile) : '?'), about: 'nobody knows what of this was lost' },
	{ key: 'energy_kwh', wide: true, head: 'Energy', unit: 'kWh', kind: 'number', rare: true, about: 'of jobs on nodes with sensors; CSV has its bounds' },
	{ key: 'energy_money', wide: true, head: 'Energy', unit: currency, kind: (r) => money(r.energy_money), rare: true, about: 'energy at its price' },
	{ key: 'money_lost', head: 'Lost', unit: currency, kind: (r) => money(r.money_lost), rare: true, about: 'lost core-hours and GPU-hours at the prices of jobprof.conf' },
	{ key: 'findings', head: 'Findings', kind: 'count', about: 'of all its jobs' },
	{ key: 'failed', wide: true, head: 'Failed', unit: 'jobs', kind: 'count', rare: true, about: 'failed, node_fail, boot_fail or out_of_memory' },
	{ key: 'lost_share_points', head: 'Share over time', unit: '% lost', left: true, kind: overTime, rare: true, fixed: true, about: 'lost of what jobs with a profile held, in each tenth of the time, or each month of a long one, from 0 to its highest' },
];

function sentence(d) {
	const s = d.sum;

	if (!s.jobs)
		return 'No job in this choice.';
	return [el('b', {}, plural(s.jobs, 'job')), ` held ${cells.hours(s.held_core_s)} core-h, `, el('b', {}, `${cells.hours(s.lost_core_s)} were lost`), known(s.lost_share) ? ` (${share(s.lost_share)})` : '',
		known(s.money_lost) ? `: ${money(s.money_lost)} ${d.currency ?? ''} of ${money(s.money_held)}` : '', known(s.energy_kwh) && s.energy_kwh > 0 ? `; ${cells.number(s.energy_kwh)} kWh` : '; energy not known: no sensors',
		s.without_profile > 0 ? `; ${share(s.without_profile)} of what was held has no profile` : ''];
}

const none = () => el('p', { class: 'none' }, el('b', {}, 'No job in this choice. '), 'Another time, or ', el('a', { href: address(site.page, { since: 'all' }) }, 'all jobs of all times'), '.');

export function usage({ usage: d, histograms: h }) {
	const columns = ofUsage(d.by, d.currency), projects = coordinated(site);

	shell('Usage', [projects.length ? ['Own jobs, and those of ', projects.map((a, i) => [i ? ', ' : '', link('usage', { project: a, by: 'user' }, name(a, 30))]), ', which you coordinate: '] : '', sentence(d)], filters('30d'), h ? histograms(h) : null, tabs(d.by), crumbs(d),
		d.rows.length ? table('Usage', columns, d.rows, { sort: 'lost_core_s', sum: d.sum }) : none(),
		d.groups > d.rows.length ? el('p', { class: 'soft' }, `These are the first ${count(d.rows.length)} of ${count(d.groups)}. `, link(site.page, { ...site.arguments, all: 1 }, 'All of them')) : null, means(columns));
	drawParts(document.body);
	return { usage: d };
}
