// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof compare --html`: the sentence, the waterfall from the time of A to that of B, its terms,
// and the two runs.
import { Clock } from './clock.js';
import { el, low, name, section, soft } from './dom.js';
import { count, day, mega, number, plain, plural, share, signed, time } from './format.js';
import { paper } from './paper.js';

const NOTHING = 1e-6; // of the time of A: rounding
const RARE = ['cores', 'unknown', 'tail']; // only of the few runs that have them
const CAUSES = ['quota', 'net_fs', 'kernel', 'futex', 'pipe', 'socket', 'poll', 'sleep', 'child', 'signal']; // of other waiting
const CAUSE_LEAST = 1e-3; // of the time of A: what a cause has to have to be named

const QUANTITIES = { instructions: mega, 1: number, Hz: (v) => `${mega(v)}Hz`, cores: number, 'at a time': number, s: (v) => time(v === null ? null : Math.max(0, v)) };

const quantity = (term, v) => (QUANTITIES[term.unit] ?? number)(v);

function percent(v) {
	const text = v === null ? '?' : (100 * Math.abs(v)).toFixed(1);

	return `${Number(text) > 0 ? (v > 0 ? '+' : '\u2212') : ''}${text} %`;
}

const IN_ALL = 'seconds of all threads together';

const isNothing = (s, wall) => Math.abs(s) < NOTHING * wall;
const change = (s, c) => signed(isNothing(s, c.a.wall_s) ? 0 : s);

const isSmall = (t, wall) => CAUSES.includes(t.id) && Math.max(t.a, t.b) < CAUSE_LEAST * wall;

const isShown = (t, wall) => t.part_of === null && !(RARE.includes(t.id) && !t.s && !(t.id === 'tail' && t.a > 0)) && !isSmall(t, wall);

// Causes that are not known are one row.
const isListed = (t, wall) => isShown(t, wall) || (t.part_of !== null && !CAUSES.slice(1).includes(t.id));
const nameOf = (t) => (t.part_of !== null && t.id === CAUSES[0] ? 'causes' : t.name);

// Where each term begins and ends on the way from the time of A to that of B.
export function steps(terms, wall) {
	let at = wall;

	return terms.map((t) => {
		const from = at;

		at += t.s ?? 0;
		return { term: t, from, to: at };
	}).filter(({ term }) => isShown(term, wall));
}

const title = (r) => (r.job ? `job ${r.job}` : 'a job');

function head(c) {
	const ran = [c.a, c.b].map((r) => time(r.wall_s));

	return el('header', {},
		el('h1', {}, c.cause === null ? 'B took as long as A' : c.s < 0 ? 'Why B took less time' : 'Why B took longer', ' ', el('code', {}, name(c.b.program ?? '', 80))),
		el('p', { class: 'st' }, `A ${ran[0]} \u2192 B ${ran[1]}`),
		el('p', { class: 'about' }, 'A: ', name(title(c.a), 60), ' \u00b7 B: ', name(title(c.b), 60)));
}

function put(e, from, to) {
	e.style.left = `${100 * Math.min(from, to)}%`;
	if (from !== to)
		e.style.width = `${100 * Math.abs(to - from)}%`;
	return e;
}

// What changes nothing has no bar.
function line(label, value, most, from, to, more = {}) {
	const place = (s) => Math.max(0, s) / most;
	const bar = more['data-term'] ? (to > from ? 'up' : 'down') : 'run';
	const marks = [put(el('i', { class: 'to' }), place(to), place(to)), isNothing(to - from, most) ? '' : put(el('i', { class: bar }), place(from), place(to))];

	return el('div', { class: 'wl', ...more }, el('span', {}, label), el('div', { class: 'wb' }, marks), el('b', {}, value));
}

function scale(most) {
	const clock = new Clock({ job: {}, page: { lines: { end_s: most, dt_s: most / 100 } }, facts: {} });
	const { ticks, step } = clock.ticks(0, most, 4), row = el('div', { class: 'wb ax', 'aria-hidden': 'true' });

	for (const t of [...new Set([0, ...ticks])])
		row.append(put(el('span', { class: t ? '' : 'a' }, clock.tick(t, step)), t / most, t / most));
	return el('div', { class: 'wl scale' }, el('span'), row, el('b'));
}

function waterfall(c) {
	const rows = steps(c.terms, c.a.wall_s), most = Math.max(c.a.wall_s, c.b.wall_s, ...rows.flatMap((r) => [r.from, r.to]));
	const box = el('div', { class: 'wf', role: 'img', 'aria-label': `From the ${time(c.a.wall_s)} of A to the ${time(c.b.wall_s)} of B; the table below has the terms` },
		line('A', time(c.a.wall_s), most, 0, c.a.wall_s, { class: 'wl end' }),
		rows.map(({ term: t, from, to }) => line([t.usual?.unusual ? el('b', { class: 'bad' }, '! ') : '', t.name], change(t.s, c), most, from, to, { 'data-term': t.id, class: t.id === c.cause ? 'wl cause' : 'wl' })),
		line('B', time(c.b.wall_s), most, 0, c.b.wall_s, { class: 'wl end' }), scale(most));

	return section('waterfall', 'From A to B', soft(el('i', { class: 'k up' }), 'adds to the time', el('i', { class: 'k down' }), 'takes from it', c.terms.some((t) => t.usual?.unusual) ? el('span', { class: 'rare' }, el('b', { class: 'bad' }, '!'), ' unusual') : ''), box);
}

function usual(t, isJudged) {
	if (!t.usual || !isJudged)
		return [];
	const text = `${percent(t.usual.median)} \u00b1 ${(100 * t.usual.mad).toFixed(1)} %`;

	return [el('td', {}, text), el('td', { class: 'say' }, t.usual.unusual ? el('b', { class: 'bad' }, `unusual: ${percent(t.ln)}`) : soft('as usual'))];
}

function terms(c) {
	const judged = c.baseline.is_judged, names = Object.fromEntries(c.terms.map((t) => [t.id, t.name])), columns = judged ? 7 : 5;
	const row = (t) => el('tr', { 'data-row': t.id }, el('th', { scope: 'row' }, judged && t.usual?.unusual ? el('b', { class: 'bad' }, '! ') : '', nameOf(t)),
		isShown(t, c.a.wall_s) ? [el('td', { 'data-value': `${t.id} s` }, change(t.s, c)), el('td', { 'data-value': `${t.id} share` }, percent(t.share)),
			el('td', { 'data-value': `${t.id} a` }, quantity(t, t.a)), el('td', { 'data-value': `${t.id} b` }, quantity(t, t.b)), usual(t, judged)]
			: el('td', { colspan: columns - 1, class: 'say soft' }, `part of ${names[t.part_of]}${t.reason ? `: ${t.reason}` : ''}`));

	const says = ['change: seconds of the run', names.work === 'CPU time' ? 'CPU time of A and B: of all threads together' : '',
		judged ? `usual: of ${plural(c.baseline.runs, 'earlier run')}, as ln(T\u2082/T\u2081)` : ''].filter(Boolean);

	return section('terms', 'The terms', says.join(' \u00b7 '),
		el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Table: the terms' }, el('table', { class: 'rk tm' },
			el('thead', {}, el('tr', {}, el('td'), ['change', 'of A', 'A', 'B', ...(judged ? ['usual', ''] : [])].map((h) => (h ? el('th', { scope: 'col' }, h) : el('td'))))),
			el('tbody', {}, c.terms.filter((t) => isListed(t, c.a.wall_s)).map(row),
				el('tr', {}, el('th', { scope: 'row' }, el('b', {}, 'all')), el('td', { 'data-value': 'all s' }, el('b', {}, signed(c.s))), el('td', {}, percent(c.s / c.a.wall_s)),
					el('td', { 'data-value': 'all a' }, time(c.a.wall_s)), el('td', { 'data-value': 'all b' }, time(c.b.wall_s)), judged ? [el('td'), el('td')] : '')))));
}

const SHARE_LEAST = 0.005; // of a part, in one of the runs

export const partsOf = (table) => table.rows.filter((r) => r.a !== null && r.b !== null && (r.s === null || Math.max(r.a, r.b) >= SHARE_LEAST));

const points = (v) => (Math.abs(v) < 0.05 ? '0.0' : `${v < 0 ? '\u2212' : '+'}${Math.abs(v).toFixed(1)}`);
const part = (v, s) => `${(100 * v).toFixed(1)} %${s === null ? '' : ` \u00b7 ${time(s)}`}`;

function table(t) {
	const row = (r) => el('tr', {}, el('th', { scope: 'row' }, name(r.name, 60)),
		[['a', part(r.a, r.a_s)], ['b', part(r.b, r.b_s)], ['s', r.s === null ? '' : signed(r.s)], ['points', points(r.points)]].map(([key, text]) => el('td', { 'data-part': `${t.id} ${r.name} ${key}` }, text)));

	return section(t.id, t.name, t.a_by === t.b_by ? (t.rows.some((r) => r.s !== null) ? IN_ALL : '') : `A is measured by ${t.a_by}, B by ${t.b_by}`, el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': `Table: ${t.name}` }, el('table', { class: 'rk' },
		el('thead', {}, el('tr', {}, el('td'), ['A', 'B', 'change', 'points'].map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, partsOf(t).map(row)))));
}

const where = (p) => [`${share(p.share)} of it on `, name(p.node, 40)];
const slow = (p) => [name(p.node, 40), ` at ${share(p.ratio)} of the others`];

const ROWS = [['job', (r) => r.job], ['step', (r) => r.step], ['program', (r) => r.program], ['started', (r) => (r.start > 0 ? day(r.start) : null)], ['ran', (r) => time(r.wall_s)],
	['nodes', (r) => count(r.nodes)], ['cores', (r) => (r.cores > 0 ? count(r.cores) : null)], ['tasks', (r) => (r.tasks ? count(r.tasks) : null)],
	['waited for a CPU', (r) => r.nodes > 1 && r.waits_for_cpu && where(r.waits_for_cpu)], ['waited for a disk', (r) => r.nodes > 1 && r.waits_for_disk && where(r.waits_for_disk)],
	['low clock', (r) => r.low_clock && slow(r.low_clock)], ['low IPC', (r) => r.low_ipc && slow(r.low_ipc)]];

function runs(c) {
	const cell = (v) => el('td', {}, typeof v === 'string' ? name(v, 120) : v || '\u2013');
	const rows = ROWS.map(([label, of]) => [label, of(c.a), of(c.b)]).filter(([, a, b]) => a || b);

	return section('runs', 'The two runs', '', el('table', { class: 'rk two-runs' },
		el('thead', {}, el('tr', {}, el('td'), el('th', { scope: 'col' }, 'A'), el('th', { scope: 'col' }, 'B'))),
		el('tbody', {}, rows.map(([label, a, b]) => el('tr', { 'data-run': label }, el('th', { scope: 'row' }, label), cell(a), cell(b))))));
}

// What a reader should know.
function notes(c) {
	const b = c.baseline, list = [...c.notes];

	if (!b.is_judged)
		list.unshift(b.runs || b.left_out ? `Two runs only: the baseline has ${count(b.runs)} like A, and 5 are needed to tell what is usual.`
			: 'Two runs only: how much such runs differ anyway is not known; --baseline with 5 earlier ones tells.');
	if (b.left_out > b.later)
		list.push(`${plural(b.left_out - b.later, 'other run')} of the baseline: not like A in program, nodes, tasks or columns.`);
	if (b.later)
		list.push(`${plural(b.later, 'run')} of the baseline began after B and ${b.later === 1 ? 'does' : 'do'} not count.`);
	return list.map((t) => el('p', { class: 'words soft' }, t));
}

export function compare(c) {
	document.title = plain(`${title(c.a)} and ${title(c.b)}: jobprof compare`).slice(0, 200);
	document.body.append(head(c), el('main', { class: 'cmp' }, el('p', { class: 'sentence' }, c.sentence), waterfall(c), notes(c), el('div', { class: 'two' }, low(terms(c)), low(runs(c)), c.tables.map((t) => low(table(t))))),
	el('footer', {}, `jobprof ${c.version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof compare --json A B')));
	paper(() => {});
	return { compare: c };
}
