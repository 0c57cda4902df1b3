// SPDX-License-Identifier: GPL-2.0-or-later
// Home's first part: the jobs of a user that run and wait, as jobprof running prints them; those first that need somebody.
import { el, name, section, soft } from './dom.js';
import { count, day, plural, spoken } from './format.js';
import { address, cells, few, hm, known, severity, site, table } from './site.js';

const LOSES = 1; // cores: a job that loses less needs nobody
const SOON_S = 1800;
const SEVERITIES = ['note', 'warn', 'bad'];

const clock = (s) => day(s).slice(11);
const soon = (s) => (s - site.now < 43200 ? clock(s) : day(s).slice(5)); // with its day where that may be another one
const leftOf = (r) => (known(r.start) && known(r.limit_s) ? r.start + r.limit_s - site.now : null);
const idOf = (r) => (known(r.array_task) ? `${r.array_id}_${r.array_task}` : String(r.job_id));

export const needs = (r) => known(r.full_at) || (r.losing_cores ?? 0) >= LOSES;

function left(r) {
	const s = leftOf(r);

	if (r.waits)
		return known(r.estimated) ? soft(`starts ${soon(r.estimated)}?`) : soft('no start known');
	if (s === null)
		return soft(known(r.limit_s) ? '?' : 'no limit');
	return [el('i', { class: 'lim', 'data-v': Math.min(1, Math.max(0, 1 - s / r.limit_s)) }), s < SOON_S ? el('b', {}, spoken(Math.max(0, s))) : spoken(s), soft(` ${soon(r.start + r.limit_s)}`)];
}

// Below five minutes few rules can be judged.
export const nothing = (r) => (known(r.last) && known(r.start) && r.last - r.start < 300 ? 'too early to judge' : 'nothing');

function held(r) {
	if (r.waits)
		return soft(`waits: ${r.reason ?? '?'}`);
	if (!known(r.findings))
		return soft('not known: no profile yet');
	if (known(r.full_at))
		return [severity(SEVERITIES[r.severity] ?? 'bad'), ' ', el('b', {}, `memory is full in ${spoken(Math.max(0, r.full_at - site.now))}`), ': ', name(r.text ?? r.rule, 160)];
	return r.rule === 'none' || !known(r.rule) ? soft(nothing(r)) : [severity(SEVERITIES[r.severity] ?? 'note'), ' ', name(r.text ?? r.rule, 160), r.findings > 1 ? soft(` +${r.findings - 1}`) : ''];
}

const part = (key) => (r) => (r.waits ? '' : key === 'gpu_share' && !r.gpus ? '\u2013' : cells.part(r[key]));

export const runningColumns = [
	{ key: 'job_id', head: 'Job', left: true, fixed: true, phone: 'p2', kind: (r) => (r.waits || !known(r.findings) ? idOf(r) : el('a', { href: address(`job/${idOf(r)}`) }, idOf(r))) },
	{ key: 'name', head: 'Name', left: true, fixed: true, phone: 'p1', kind: (r) => name(r.name ?? '?', 30) },
	{ key: 'nodes', head: 'On', unit: 'nodes \u00d7 cores', fixed: true, phone: 'p2', kind: (r) => [`${cells.count(r.nodes)} \u00d7 ${known(r.cores) && r.nodes ? few(r.cores / r.nodes).replace(/\.0+$/, '') : '?'}`, r.gpus ? soft(` +${count(r.gpus)}G`) : ''] },
	{ key: 'start', is: '', head: 'Ran', unit: 'h:min', fixed: true, phone: 'p2', label: 'ran', kind: (r) => (r.waits || !known(r.start) ? '\u2013' : hm(Math.max(0, site.now - r.start))), about: 'since its start' },
	{ key: 'limit_s', is: '', head: 'Time left', unit: 'of its limit, ends at', fixed: true, phone: 'p1r', kind: left, about: 'until the time limit, and when that is; the bar is what is over of it; bold below half an hour' },
	{ key: 'cpu_share', head: 'CPU', unit: '%', fixed: true, phone: 'p2', label: 'CPU', after: '%', kind: part('cpu_share'), bar: true, about: 'CPU time of what its cores could have worked in the last 5 minutes' },
	{ key: 'memory_share', head: 'Mem', unit: '% of limit', fixed: true, phone: 'p2', label: 'mem', after: '%', kind: part('memory_share'), bar: true, about: 'without cached files, of the fullest node, now' },
	{ key: 'gpu_share', head: 'GPU', unit: '%', fixed: true, phone: 'p2', label: 'GPU', after: '%', kind: part('gpu_share'), bar: true, about: 'mean use of its GPUs in the last 5 minutes; \u2013: none asked for' },
	{ key: 'text', head: 'What held it back so far', left: true, fixed: true, cut: true, phone: 'p3', kind: held, about: 'the finding that will end it first, else the dearest one of those that hold now' },
];

// null: there is nothing to say of it.
export function runningNow(d) {
	if (!d?.rows)
		return null;
	const waiting = (d.waiting_rows ?? []).map((r) => ({ ...r, waits: true })), rows = [...d.rows, ...waiting], bad = d.rows.filter(needs).length;

	if (!rows.length)
		return section('now', 'Running now', known(d.looked) ? `no job runs or waits; as of ${clock(d.looked)}` : 'not known here: nobody has looked at running jobs yet, which jobprof index watch does');
	return section('now', 'Running now', el('span', { class: 'soft' }, bad ? el('b', {}, `${count(bad)} of ${count(d.rows.length)} need${bad === 1 ? 's' : ''} you`) : 'nothing needs you', known(d.looked) ? `; as of ${clock(d.looked)} \u00b7 ` : ' \u00b7 ', el('a', { href: address('running') }, 'live')),
		table('Running and waiting jobs', runningColumns, rows, { keys: false, more: 'now pp' }));
}

// For the head of a page: "1 of 5 needs you".
export function runningWords(d) {
	if (!d?.rows || !known(d.looked))
		return '';
	const bad = d.rows.filter(needs).length, n = d.rows.length, waits = d.waiting_rows?.length ?? 0;

	return [bad ? el('b', {}, `${count(bad)} of ${plural(n, 'running job')} need${bad === 1 ? 's' : ''} you`) : n ? `${plural(n, 'job')} run${n === 1 ? 's' : ''}, none needs you` : 'no job runs', waits ? `, ${count(waits)} wait${waits === 1 ? 's' : ''}` : '', ' \u00b7 '];
}
