// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a node: who was on it with whom, and did they hurt each other.
import { Clock } from './clock.js';
import { canvas, colour, el, low, name, section, soft, table as behind } from './dom.js';
import { count, day, mb, number, plain, plural, power, roundUp, roundUpSize, share, spoken, zone } from './format.js';
import { paper } from './paper.js';
import { isKnown, series } from './series.js';
import { address, below, drawParts, few, known, link, means, noTable, shell, site, table } from './site.js';
import { View } from './view.js';

const TAKEN = 0.05; // share of its CPU time that a job lost to others, from which on it is worth a word
const THIN = 12, HIGH = 240; // lanes from which on they are thin and have no words, and pixels that these share
const SEVERITIES = ['note', 'warn', 'bad'];

// ---- who was there

// Jobs that were there at the same time lie above each other: a lane has those that do not overlap.
export function packed(jobs) {
	const lanes = [];

	for (const j of [...jobs].sort((a, b) => a.start - b.start)) {
		const free = lanes.find((l) => known(l.at(-1).end) && l.at(-1).end <= j.start);

		if (free)
			free.push(j);
		else
			lanes.push([j]);
	}
	return lanes;
}

const isOthers = (j) => !known(j.job_id);
const id = (j) => (known(j.array_task) ? `${j.array_id}_${j.array_task}` : String(j.job_id));
// A job without a profile has no page of its own.
const pageOf = (j) => (known(j.findings) ? address(`job/${id(j)}`) : address(known(j.end) ? 'jobs' : 'running', { jobs: id(j) }));
const jobLink = (j) => (isOthers(j) ? soft('another job') : el('a', { href: pageOf(j) }, id(j)));
const severity = (n) => (n > 0 ? [el('b', { class: `sev ${SEVERITIES[n]}` }, SEVERITIES[n].toUpperCase()), ' '] : '');

function bar(j, d, view, clock) {
	const from = Math.max(0, j.start - d.from), to = Math.min(view.end, (j.end ?? d.until) - d.from), size = known(j.cores) ? plural(j.cores, 'core') : 'cores not known';
	const when = `${clock.text(from)} to ${known(j.end) ? clock.text(to) : 'now'}`;
	const b = isOthers(j) ? el('span', { class: 'job', title: `another job, ${size}, ${when}` }, `another job \u00b7 ${size}`) :
		el('a', { class: `job${taken(j, d) > TAKEN ? ' waits' : ''}`, href: pageOf(j),
			title: `job ${id(j)}, ${j.name ?? 'no name'}, ${j.user}: ${size}, ${when}; CPU ${share(j.cpu_share)} of its cores, waited for a CPU ${share(j.wait_share)}; ${j.worst_text ?? (known(j.findings) ? 'no finding' : 'no profile')}` },
		`${id(j)} `, name(j.name ?? '', 24), ' ', name(j.user ?? '', 20), ` \u00b7 ${size}`, el('i', { class: 'cpu', 'data-v': Math.min(1, j.cpu_share ?? 0) }), el('i', { class: 'wait', 'data-v': Math.min(1, j.wait_share ?? 0) }));

	view.onShow(() => {
		const [a, z] = [from, to].map((t) => Math.min(1, Math.max(0, view.place(t))));

		b.hidden = z <= a;
		b.style.left = `${100 * a}%`;
		b.style.width = `max(3px, calc(${100 * (z - a)}% - 1px))`;
	});
	return b;
}

function jobLanes(d, view, clock) {
	const lanes = packed(d.lanes), box = el('div', { class: `joblanes${lanes.length > THIN ? ' thin' : ''}` }, lanes.length ? lanes.map((l) => el('div', {}, l.map((j) => bar(j, d, view, clock)))) : el('p', { class: 'soft' }, 'no job in this time'));

	box.style.setProperty('--h', `${Math.max(3, Math.min(9, Math.floor(HIGH / Math.max(1, lanes.length))))}px`);
	return el('div', { class: 'row' }, el('div', { class: 'lab' }, el('b', {}, 'Jobs'), ' ', soft('below: CPU; red: wait')),
		box,
		el('dl', { class: 'val' }, el('dt', {}, 'jobs'), el('dd', {}, count(d.lanes.length)), el('dt', {}, 'at once'), el('dd', {}, lanes.length ? `up to ${lanes.length}` : '0')));
}

// ---- what happened

const letter = (i) => 'abcdefghijklmnopqrstuvwxyz'[i] ?? String(i + 1);

function marks(d, view) {
	return el('div', { class: 'row' }, el('div', { class: 'lab one' }, soft('events')), el('div', { class: 'events' }, d.events.map((e, i) => {
		const b = el('button', { type: 'button', class: SEVERITIES[e.severity] ?? 'note', title: `${day(e.at)}: ${e.text}`, onclick: () => view.set({ pin: e.at - d.from, at: e.at - d.from }) }, letter(i));

		view.onShow(() => {
			const at = view.place(e.at - d.from);

			b.hidden = !(at >= 0 && at <= 1);
			b.style.left = `${100 * at}%`;
		});
		return b;
	})), el('span'));
}

const happened = (d) => section('events', 'Events', '', d.events.length ? el('dl', { class: 'dl' }, d.events.map((e, i) => [el('dt', {}, `${letter(i)}  ${day(e.at).slice(5)}`),
	el('dd', {}, severity(e.severity), name(e.text, 300))])) : el('p', { class: 'soft words' }, 'None is known in this time.'));

// ---- lines

const highest = (line) => Math.max(0, ...(line ?? []).filter(isKnown));
const one = (v, word) => `${number(v)} ${word}${v === 1 ? '' : 's'}`;

function linesOf(d) {
	const l = d.lines, all = l.cpu_jobs_cores?.map((v, i) => (isKnown(v) ? v + (l.cpu_other_cores?.[i] ?? 0) : null)), text = (v) => one(v, 'core');

	return [
		{ key: 'cpu', name: 'CPU', unit: 'cores; grey: of jobs', line: all, area: l.cpu_jobs_cores, top: Math.max(d.kind?.cores ?? 0, roundUp(highest(all)) * (highest(all) > (d.kind?.cores ?? 0))), axis: number, text,
			more: (i) => [['of jobs', isKnown(l.cpu_jobs_cores[i]) ? text(l.cpu_jobs_cores[i]) : '?'], ['others', isKnown(l.cpu_other_cores?.[i]) ? text(l.cpu_other_cores[i]) : '?']] },
		{ key: 'wait', name: 'Wait for CPU', unit: 'threads of jobs', line: l.wait_threads, area: l.wait_threads, colour: '--s3', top: roundUp(Math.max(1, highest(l.wait_threads))), axis: number, text: (v) => one(v, 'thread') },
		{ key: 'memory', name: 'Memory', unit: 'without files; grey: of jobs', line: l.memory_mb, area: l.memory_jobs_mb, top: d.kind?.memory_mb ?? roundUpSize(highest(l.memory_mb)), axis: mb, text: mb,
			more: (i) => [['of jobs', mb(l.memory_jobs_mb?.[i])]] },
		{ key: 'power', name: 'Power', unit: 'of the node; grey: its bounds', line: l.power_w, bounds: l.power_low_w && [l.power_low_w, l.power_high_w], top: roundUp(Math.max(highest(l.power_w), highest(l.power_high_w))), axis: power, text: power,
			more: (i) => (isKnown(l.power_low_w?.[i]) ? [['at least', power(l.power_low_w[i])], ['at most', power(l.power_high_w[i])]] : []) },
	].map((r) => (r.line?.some(isKnown) ? r : { ...r, line: null, unknown: r.key === 'power' ? 'not known: no energy sensor of this node was read' : 'not known: no profile of a job has it for this time' }));
}

// The command and the CSV of a table of this node.
const of = (d, what, table_) => below(what, { node: d.node, table: table_ });
const behindLines = (d, rows) => behind('Table: the lines, by time', ['from', ...rows.map((r) => `${r.name}, ${r.unit}`)],
	() => rows[0].line.map((_, i) => [day(d.from + i * d.step_s), ...rows.map((r) => (isKnown(r.line[i]) ? r.text(r.line[i]) : 'not known'))]), of(d, 'the lines', 'lines'), 'lines by time', 'CSV');

// ---- who took CPU from whom

// What a job waited for other jobs, of its CPU time and all its wait. NaN: not known.
export function taken(j, d) {
	const r = d.ledger?.rows.find((x) => x.job_id === j.job_id), of = (j.cpu_s ?? NaN) + (j.wait_s ?? NaN);

	return r ? (r.by_job_s.reduce((a, v) => a + (v ?? 0), 0) + (r.other_job_s ?? 0)) / of : NaN;
}

const OWNERS = [['other_job_s', 'other jobs', 'of which no profile says more'], ['system_s', 'system', 'what runs beside jobs'], ['wakeup_s', 'waking up', 'the time from being woken to running'], ['quota_s', 'CPU quota', 'its own limit'], ['no_owner_s', 'no owner', 'what cannot be said']];

const holder = (c) => (known(c.job_id) ? [`${c.job_id} `, name(c.name ?? '', 16)] : 'another job');

function ledgerTable(L) {
	const rest = OWNERS.filter(([key]) => L.rows.some((r) => r[key] > 0)), parts = (r) => [r.own_s, ...r.by_job_s, ...rest.map(([key]) => r[key])];
	const most = Math.max(1e-9, ...L.rows.flatMap(parts).map((v) => v ?? 0));
	const cell = (v, own) => el('td', {}, own ? soft('\u2013') : !isKnown(v) ? '?' : v ? few(v) : soft('0'), el('i', { 'data-v': (v ?? 0) / most }));

	return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Table: who waited for whom' }, el('table', { class: 'g led' },
		el('thead', {}, el('tr', {}, [['waited'], ['all waits', 'wait_s'], ['for its own', 'own_s', 'threads of the same job'], ...L.columns.map((c) => [['for ', holder(c)]]), ...rest.map(([key, words, about]) => [`for ${words}`, key, about])].map(([t, key, about], i) => el('th', { scope: 'col', class: i ? null : 'l', 'data-key': key ?? '', title: about ?? null }, t)))),
		el('tbody', {}, L.rows.map((r) => el('tr', {}, el('th', { scope: 'row', class: 'l' }, known(r.job_id) ? [el('a', { href: address(`job/${r.job_id}`) }, r.job_id), ' ', name(r.name ?? '', 20)] : 'another job'), el('td', {}, el('b', {}, few(r.wait_s))),
			cell(r.own_s), r.by_job_s.map((v, i) => cell(v, v === null && L.columns[i].job_id === r.job_id)), rest.map(([key]) => cell(r[key])))))));
}

function ledger(d) {
	const L = d.ledger, split = L?.rows.some((r) => r.exact_share < 0.9995);

	if (!L?.rows.length)
		return section('ledger', 'Who took CPU from whom', '', el('p', { class: 'soft words' }, L && d.lines.wait_threads.some(known) ? 'No job of this time waited for a CPU.' : 'Not known: no profile of this time has the table of culprits.'));
	return section('ledger', 'Who took CPU from whom', 'core-seconds of waiting', ledgerTable(L), of(d, 'who waited for whom', 'ledger'),
		el('p', { class: 'soft small' }, 'At each switch the wait of a thread is put on what ran on its CPU. Rows add up to the kernel\u2019s own run-queue wait.',
			split ? ' Where several other jobs were on the node at once, what they took is split by their CPU time.' : ''));
}

const advice = (p) => (p.wait_share < 0.02 ? 'leave them together' : p.wait_share > 0.1 ? 'keep them apart' : 'watch them');

const pairs = (d) => (d.pairs?.length ? el('section', { class: 'gap', 'aria-labelledby': 'h-pairs' }, el('h3', { id: 'h-pairs' }, 'Which kinds share well here'),
	el('ul', { class: 'small' }, d.pairs.map((p) => el('li', {}, el('b', {}, name(p.names.join(' + '), 60)), `: lost ${share(p.wait_share)} of their CPU time to each other `, soft(`\u2013 ${advice(p)}`)))), of(d, 'kinds that share', 'pairs')) : null);

// ---- how fast it is

function strip(s, own) {
	const values = s.nodes.map((k) => k.speed), least = Math.min(0.95, ...values) - 0.01, most = Math.max(1.05, ...values) + 0.01;
	const place = (v) => (v - least) / (most - least), step = most - least > 0.6 ? 0.2 : most - least > 0.3 ? 0.1 : 0.05, ticks = [];

	for (let k = Math.ceil(least / step + 0.2); k * step <= most - 0.2 * step; k++)
		ticks.push(k * step);
	const c = canvas(`Speed of ${s.nodes.length} nodes of its kind; this one has ${share(s.speed)}`, (g, w, h) => {
		g.clearRect(0, 0, w, h);
		for (const k of s.nodes) {
			const me = k.node === own, wide = me || k.is_slow ? 2 : 1;

			g.fillStyle = colour(me ? '--ink' : k.is_slow ? '--bad' : '--soft');
			g.fillRect(Math.round(place(k.speed) * w - wide / 2), me ? 0 : k.is_slow ? h * 0.25 : h * 0.45, wide, h);
		}
	}, { class: 'speeds' });
	const x = el('div', { class: 'hx', 'aria-hidden': 'true' }, ticks.map((v) => {
		const t = el('span', {}, `${Math.round(100 * v)} %`);

		t.style.left = `${100 * place(v)}%`;
		return t;
	}));

	return [c, x];
}

const slower = (v) => `${v < 1 ? '\u2212' : '+'}${Math.abs(100 * v - 100).toFixed(0)} %`;

function speed(d, redraws) {
	const s = d.speed, title = 'How fast it is beside its kind';

	const nodes = (s?.nodes ?? []).filter((k) => known(k.speed));

	if (!nodes.length || !known(s.speed))
		return section('speed', title, '', el('p', { class: 'soft words' }, d.sees_all ? `Not known yet: ${plural(s?.runs ?? 0, 'run')} of programs that ran on other nodes of its kind, too; 15 are needed.` : 'Staff see it.'));
	const [c, x] = strip({ ...s, nodes }, d.node), slow = nodes.filter((k) => k.is_slow && k.node !== d.node);

	redraws.push(c.redraw);
	return section('speed', title, `${plural(nodes.length, 'node')}, ${plural(s.runs, 'run')}`,
		el('p', { class: 'words' }, el('b', {}, name(d.node, 40), ` does ${(100 * s.speed).toFixed(1)} % of the work of its kind`), ' per CPU-second',
			s.is_slow ? [': ', el('b', { class: 'bad' }, 'it is slow')] : known(s.spread) ? `: ${Math.abs(s.speed - 1) <= s.spread ? 'within' : 'outside of'} the usual spread (\u00b1${(100 * s.spread).toFixed(1)} %)` : '', '.'),
		c, x, el('p', { class: 'soft small' }, 'Each line is a node: ordinary jobs of the same program, against the median of all nodes of the kind.', slow.length ? [' Slow: ', slow.map((k, i) => [i ? ', ' : '', link('node', { node: k.node, cluster: d.cluster }, name(k.node, 30)), ` ${slower(k.speed)}`]), '.'] : ''),
		behind('Table: speed of each node', ['node', '% of the median', 'runs'], () => [...nodes].sort((a, b) => a.speed - b.speed).map((k) => [[name(k.node, 40), k.is_slow ? ' slow' : ''], (100 * k.speed).toFixed(1), count(k.runs)]), of(d, 'speeds', 'speed'), 'speeds', 'CSV'));
}

// ---- the table of jobs

const few3 = (v) => (known(v) ? few(v) : '?');

const COLUMNS = [
	{ key: 'job_id', head: 'Job', left: true, fixed: true, kind: jobLink, about: 'a job that had cores of this node; opens its page' },
	{ key: 'user', head: 'User', left: true, fixed: true, kind: (j) => (known(j.user) ? [name(j.user, 24), known(j.account) ? soft(' ', name(j.account, 20)) : ''] : soft('another user')), about: 'and project; others are named to staff only' },
	{ key: 'name', head: 'Name', left: true, fixed: true, kind: (j) => (known(j.name) ? [name(j.name, 24), j.program ? [' ', el('code', { class: 'soft' }, name(j.program.split('/').at(-1), 24))] : ''] : ''), about: 'of the job, and its program' },
	{ key: 'state', head: 'State', left: true, fixed: true, rare: true, kind: (j) => (j.state === 'COMPLETED' ? soft('completed') : (j.state ?? '').toLowerCase().replaceAll('_', ' ')) },
	{ key: 'cores', head: 'Cores', unit: 'here', fixed: true, kind: 'count', about: 'of the job on this node' },
	{ key: 'start', head: 'From', unit: zone(), fixed: true, kind: 'when' },
	{ key: 'end', head: 'To', fixed: true, kind: (j) => (known(j.end) ? day(j.end).slice(5) : 'runs') },
	{ key: 'cpu_share', head: 'CPU', unit: '% of its cores', fixed: true, kind: 'part', rare: true, about: 'over 100: more threads than cores, on cores of others' },
	{ key: 'wait_share', head: 'Waited', unit: '% of its CPU time', fixed: true, kind: 'part', rare: true, about: 'for a CPU: wait in run queues of CPU time and wait' },
	{ key: 'memory_mb', head: 'Memory', unit: 'peak', fixed: true, kind: (j) => mb(j.memory_mb), rare: true, about: 'without files, on this node' },
	{ key: 'energy_j', head: 'Energy', unit: 'kWh', fixed: true, kind: (j) => few3(known(j.energy_j) ? j.energy_j / 3.6e6 : null), rare: true, about: 'of the whole job' },
	{ key: 'lost_core_s', head: 'Lost', unit: 'core-h', fixed: true, kind: 'hours', rare: true, about: 'of the whole job: what would come back if its findings were followed' },
	{ key: 'worst_rule', head: 'Worst finding', left: true, cut: true, fixed: true, kind: (j) => (isOthers(j) ? '' : known(j.worst_text) ? [severity(j.worst_severity), name(j.worst_text, 80), j.findings > 1 ? soft(` +${j.findings - 1}`) : ''] : soft(known(j.findings) ? 'none' : 'no profile')) },
];

// ---- the page

const RANGES = [['6h', '6 hours'], ['24h', '24 hours'], ['3d', '3 days'], ['7d', '7 days'], ['30d', '30 days']];

function chooser(node, cluster) {
	const a = site.arguments;

	return el('form', { class: 'filters', onsubmit: (e) => {
		e.preventDefault();
		location.href = address(site.page, { ...a, ...Object.fromEntries([...e.target.querySelectorAll('input')].map((i) => [i.name, i.value.trim()])) });
	} }, el('span', { class: 'choice' }, RANGES.map(([w, t]) => el('a', { href: address(site.page, { ...a, since: w, until: null }), 'aria-current': (a.since ?? '24h') === w ? 'true' : null }, t))),
	el('label', {}, 'node', el('input', { name: 'node', value: node ?? '', autocomplete: 'off' })), cluster === null ? '' : el('label', {}, 'cluster', el('input', { name: 'cluster', value: cluster ?? '', autocomplete: 'off' })), el('button', { type: 'submit', class: 'sr' }, 'show'));
}

function answer(d) {
	const mine = d.lanes.filter((j) => !isOthers(j)), hurt = mine.filter((j) => taken(j, d) > TAKEN), k = d.kind;
	const about = k ? [k.model, known(k.cores) ? plural(k.cores, 'core') : null, known(k.memory_mb) ? mb(k.memory_mb) : null, k.nodes > 1 ? `one of ${plural(k.nodes, 'such node')}` : null].filter(Boolean).join(', ') : '';

	return [el('b', {}, !mine.length ? `No job${d.sees_all ? '' : ' of yours'} was here in this time; whether the node is up is not known here, sinfo has its state` : hurt.length ? `${hurt.length} of ${plural(mine.length, 'job')} lost over 5 % of ${hurt.length === 1 ? 'its' : 'their'} CPU time to other jobs here` :
		`${plural(mine.length, 'job')}; none is known to have lost over 5 % of its CPU time to other jobs here`), about ? [' \u00b7 ', name(about, 200)] : ''];
}

// The server cannot tell which node is meant, or when.
export function whichNode() {
	const { node: asked, cluster } = site.arguments, of = asked && !cluster ? site.words?.cluster ?? [] : [];

	shell('Which node?', 'A node has a name, and one of its cluster where several clusters have a node of that name; the time is at most 35 days.', chooser(asked, cluster), typeof site.error === 'string' ? el('p', { class: 'words' }, name(site.error, 300)) : null,
		of.length ? el('p', { class: 'words' }, 'Several clusters may have a node of this name: ', of.map((c, i) => [i ? ', ' : '', link('node', { ...site.arguments, cluster: c }, name(asked, 60), ' of ', name(c, 40))]), '.') : null);
	noTable();
	return {};
}

export function node({ node: d }) {
	const end = Math.max(1, d.until - d.from), view = new View(end), clock = new Clock({ job: { start: d.from }, facts: {}, page: { lines: { end_s: end, dt_s: d.step_s } } });
	const rows = linesOf(d), redraws = [], s = series(view, clock, d.step_s, rows, `Jobs and lines of node ${d.node}`, [jobLanes(d, view, clock), marks(d, view)]), drawn = rows.filter((r) => r.line);
	const redraw = () => [s.redraw, ...redraws].forEach((f) => f());

	shell(['Node ', name(d.node, 60), d.cluster ? [' ', el('code', {}, name(d.cluster, 40))] : ''], answer(d), chooser(d.node, d.cluster ? d.cluster : null),
		section('over', 'Over time', soft(`means of ${spoken(d.step_s)}, ${clock.span(0, end, d.step_s)}`, el('span', { class: 'keyed' }, ' \u00b7 ', el('kbd', {}, '\u2190'), ' ', el('kbd', {}, '\u2192'), ' cursor, ', el('kbd', {}, 'esc'), ' off; drag to zoom')), s.part, drawn.length ? behindLines(d, drawn) : ''),
		low(el('div', { class: 'two' }, el('div', {}, ledger(d), pairs(d)), el('div', {}, speed(d, redraws), happened(d)))),
		low(section('jobs', 'Jobs of this node', link('jobs', { node: d.node, since: site.arguments.since ?? '24h' }, 'in the list of jobs'), d.lanes.length ? table('Table: jobs', COLUMNS, d.lanes, { sort: 'start' }) : el('p', { class: 'none' }, 'No job was on it in this time.'))), means(COLUMNS));
	document.title = plain(`Node ${d.node} \u00b7 jobprof`).slice(0, 200);
	drawParts(document.body);
	paper(redraw);
	new ResizeObserver(redraw).observe(document.querySelector('main'));
	s.start();
	view.show();
	return { node: d, view };
}
