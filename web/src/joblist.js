// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs as rows: their columns, arrays as one row, sums, and which rows a filter keeps.
import { el, fits, name, soft, widthOf } from './dom.js';
import { count, share, zone } from './format.js';
import { address, cells, costs, few, known, kwh, link, money, severity, site } from './site.js';
import { wordsOf } from './words.js';

// Where the time of cores went, by the columns of the index, and the colours of the job page.
const STATES = [['share_cpu', 'own code', 0], ['share_kernel', 'kernel', 2], ['share_others', 'other programs', 1], ['share_quota', 'CPU quota', 7], ['share_wait', 'wait for CPU', 3],
	['share_disk', 'wait for disk', 4], ['share_asleep', 'asleep', 5], ['share_idle', 'idle', 6]];
const parts = (r) => STATES.map(([key, word, colour]) => ({ name: word, colour, v: r[key] ?? 0 })).filter((p) => p.v > 0);
const SIDE = 5; // pixels beside a text in a bar
const told = (some) => some.map((p) => `${p.name} ${share(p.v)}`).join(', ');

function went(r) {
	const some = parts(r);

	return some.length ? el('span', { class: 'tw', role: 'img', 'aria-label': told(some), title: told(some) }, some.map((p) => el('i', { class: `b${p.colour}`, 'data-v': p.v }))) : soft('not known');
}

// Its text is whole, or the number alone, or none.
function part(p) {
	const texts = [`${p.name} ${share(p.v)}`, share(p.v)], [all, short] = texts.map((t) => widthOf(t) + 2 * SIDE);

	return el('i', { class: `b${p.colour}`, 'data-v': p.v, title: texts[0] }, fits(el('span', {}, texts[0]), all), fits(el('span', {}, texts[1]), short, all));
}

// All rows together, by what each held: legend, and check of the bars below.
export function whole(rows, ...right) {
	const some = rows.filter((r) => known(r.held_core_s) && STATES.some(([key]) => known(r[key]))), held = some.reduce((s, r) => s + r.held_core_s, 0);

	if (!(held > 0))
		return null;
	const all = STATES.map(([key, word, colour]) => ({ name: word, colour, v: some.reduce((s, r) => s + (r[key] ?? 0) * r.held_core_s, 0) / held })).filter((p) => p.v > 0.0005);

	return el('div', {}, el('div', { class: 'sumbar', role: 'img', 'aria-label': `These rows by what they held: ${told(all)}` }, all.map((p) => part(p))), el('div', { class: 'legend small' }, all.map((p) => el('span', {}, el('span', { class: `sw b${p.colour}` }), p.name)), right));
}

// ---- sums, and arrays as one row

const SUMS = ['held_core_s', 'lost_core_s', 'lost_gpu_s', 'money_lost', 'energy_j'];
const MEANS = ['elapsed_s', 'limit_share', 'cpu_share', 'memory_share', 'gpu_share', 'io_bytes_s', ...STATES.map(([key]) => key)];

// Of what is known; null where nothing is.
export const sum = (rows, key) => rows.reduce((s, r) => (known(r[key]) ? (s ?? 0) + r[key] : s), null);

// Weighted by what each row held.
export function mean(rows, key) {
	let all = 0, of = 0;

	for (const r of rows)
		if (known(r[key])) {
			const weight = r.held_core_s > 0 ? r.held_core_s : 1e-9;

			all += weight * r[key];
			of += weight;
		}
	return of > 0 ? all / of : null;
}

const isBad = (r) => known(r.state) && !/^(COMPLETED|RUNNING|PENDING)/.test(r.state);

function oneOf(tasks) {
	const worst = tasks.reduce((w, r) => ((r.lost_core_s ?? -1) > (w.lost_core_s ?? -1) ? r : w)), r = { ...worst, job_id: tasks[0].array_id, array_task: null, tasks, failed: tasks.filter(isBad).length, file: null };

	for (const key of SUMS)
		r[key] = sum(tasks, key);
	for (const key of MEANS)
		r[key] = mean(tasks, key);
	r.start = Math.max(...tasks.map((t) => t.start));
	r.state = r.failed ? `${count(r.failed)} failed` : worst.state;
	return r;
}

// Tasks of an array become one row, at the place of the first of them.
export function folded(rows) {
	const arrays = new Map(), out = [];

	for (const r of rows) {
		const key = known(r.array_id) ? `${r.cluster}/${r.array_id}` : null, tasks = key && arrays.get(key);

		if (tasks) {
			tasks.push(r);
			continue;
		}
		const one = [r];

		if (key)
			arrays.set(key, one);
		out.push(one);
	}
	return out.map((one) => (one.length > 1 ? oneOf(one) : one[0]));
}

// An array opens below itself: its tasks are rows, then. Returns false of a row that is no array.
export function toggle(r) {
	if (!r.tasks)
		return false;
	r.opened = r.opened ? null : r.tasks.map((t) => ({ ...t, of: r }));
	return true;
}

// ---- which rows a filter keeps

const inList = (text, v) => text.split(',').includes(v);
const SPANS = { s: 1, m: 60, h: 3600, d: 86400 };

// "4", "4-16", "8-"; each number by `of`. null: it is none of these.
export function range(text, of = Number) {
	const m = /^([^-]+)(-)?([^-]*)$/.exec(text);

	if (!m)
		return null;
	const least = of(m[1]), most = m[3] ? of(m[3]) : m[2] ? Infinity : least;

	return Number.isNaN(least) || Number.isNaN(most) || most < least ? null : (v) => known(v) && v >= least && v <= most;
}

const span = (t) => (/^[\d.]+[smhd]$/.test(t) ? Number(t.slice(0, -1)) * SPANS[t.at(-1)] : NaN);

function ofFinding(word) {
	return { any: (r) => r.findings > 0, none: (r) => r.findings === 0, unknown: (r) => !known(r.findings) }[word] ?? null;
}

function ofRange(text, key, of) {
	const is = range(text, of);

	return is && ((r) => is(r[key]));
}

function ofTag(word) {
	const i = site.words?.tag?.indexOf(word) ?? -1;

	return i < 0 ? null : (r) => (r.tags & (1 << i)) !== 0;
}

const FILTERS = {
	user: (w) => (w.includes('@') ? null : (r) => inList(w, r.user)),
	project: (w) => (r) => inList(w, r.account),
	partition: (w) => (r) => inList(w, r.partition),
	state: (w) => (/^[a-z_]{4,}$/.test(w) ? (r) => (r.state ?? '').startsWith(w.toUpperCase()) : null),
	finding: ofFinding,
	tag: ofTag,
	nodes: (w) => ofRange(w, 'nodes', Number),
	ran: (w) => ofRange(w, 'elapsed_s', span),
	jobs: (w) => (/^\d+$/.test(w) ? (r) => r.job_id === Number(w) || r.array_id === Number(w) : null),
};

// A test of rows that keeps those of `args` among those of `had`; null: only the server can.
export function narrower(had, args) {
	const tests = [];

	for (const key of new Set([...Object.keys(had), ...Object.keys(args)])) {
		if (key === 'sort' || key === 'limit' || had[key] === args[key])
			continue;
		const test = had[key] || !args[key] ? null : FILTERS[key]?.(args[key]);

		if (!test || (key === 'jobs' && !args.since)) // a job is looked for in all times
			return null;
		tests.push(test);
	}
	return (r) => tests.every((t) => t(r));
}

// ---- columns

export const idOf = (r) => (known(r.array_task) ? `${r.array_id}_${r.array_task}` : String(r.job_id));
const one = (key) => (r) => (r[key] ? link('jobs', { since: site.arguments.since, [key === 'account' ? 'project' : key]: key === 'name' ? `=${r[key]}` : r[key] }, name(r[key], 24)) : soft('?'));
const LOST = 'core-hours that would come back if its findings were followed, counted once where they overlap';

// Of a job without a profile the page has what Slurm's accounting says; files are of profiles alone.
export const hasPage = (r) => Boolean(r.file) || (known(r.job_id) && !site.is_static);

function job(r, table) {
	if (r.tasks)
		return el('button', { type: 'button', class: 'open', 'aria-expanded': String(Boolean(r.opened)), 'aria-label': `array ${r.array_id}, ${count(r.tasks.length)} tasks`, onclick: () => {
			toggle(r);
			table.set(table.list);
		} }, String(r.array_id));
	return hasPage(r) ? el('a', { href: address(`job/${idOf(r)}`) }, idOf(r)) : idOf(r);
}

// As much as has room: the pointer over it has the whole word.
const state = (r) => (r.state === 'COMPLETED' ? soft('completed') : (r.state ?? '?').toLowerCase().replace(/ by .*/, '').replaceAll('_', ' ').replace('out of memory', 'out of mem'));

function size(r) {
	return [`${known(r.nodes) ? count(r.nodes) : '?'} \u00d7 ${known(r.cores) && r.nodes ? few(r.cores / r.nodes).replace(/\.0+$/, '') : '?'}`, r.gpus ? soft(` +${count(r.gpus)}G`) : ''];
}

// I/O from 0.1 to 10,000 MiB/s, by powers of ten.
const decades = (v) => Math.min(1, Math.max(0, (Math.log10(v / 1048576) + 1) / 5));
const io = (r) => (known(r.io_bytes_s) ? [few(r.io_bytes_s / 1048576), el('i', { class: 'v', 'data-v': r.io_bytes_s > 0 ? decades(r.io_bytes_s) : 0 })] : '?');

function gpu(r) {
	return known(r.gpu_share) ? cells.part(r.gpu_share) : r.gpus > 0 ? '?' : '\u2013';
}

const ROOM = 260; // pixels of a cell below which a finding's words are those of its rule

function finding(r, room) {
	if (r.worst_rule === 'none' || r.worst_rule === 'no profile' || !r.worst_rule)
		return soft(r.worst_rule ?? '?');
	return [severity(r.worst_severity ?? 'note'), ' ', name(room < ROOM ? wordsOf(r.worst_rule) : r.worst_text ?? r.worst_rule, 90), r.findings > 1 ? soft(` +${r.findings - 1}`) : ''];
}

function lostOf(r) {
	return [`${cells.hours(r.lost_core_s)} of ${cells.hours(r.held_core_s)} core-h`, known(r.money_lost) ? money(r.money_lost) : '', known(r.energy_j) ? `the job used ${kwh(r.energy_j)}` : ''].filter(Boolean).join(', ');
}

// is: whose value the cell's first number is, where that is not of the key that it sorts by. rows: those of the page, of which a column must have one to be there. without: keys that are left out.
export function columnsOf(rows, get, without = []) {
	const has = (f) => rows.some(f);

	return [
		{ key: 'job_id', head: 'Job', left: true, width: 76, phone: 'p2', about: 'opens the page of the job; of an array its tasks', kind: (r) => job(r, get()) },
		{ key: 'user', head: 'User', left: true, width: 58, phone: 'p2', about: 'who ran it; a click shows these jobs alone', kind: one('user') },
		{ key: 'account', head: 'Project', left: true, width: 58, least: 1050, phone: 'p2', kind: one('account'), about: 'Slurm\u2019s account', has: (r) => r.account },
		{ key: 'name', head: 'Name', left: true, width: 122, phone: 'p1', about: 'its name; \u00d7 n: an array of n tasks as one row, with sums of what was lost and means of the others', kind: (r) => [one('name')(r), r.tasks ? soft(` \u00d7${count(r.tasks.length)}`) : ''] },
		{ key: 'state', head: 'State', left: true, width: 76, phone: 'p2', about: 'Slurm\u2019s state at its end', kind: state, hint: (r) => r.state },
		{ key: 'partition', head: 'Part.', left: true, width: 54, least: 1310, more: 'donly', about: 'its partition', kind: 'text', has: (r) => r.partition },
		{ key: 'cores', is: 'nodes', head: 'On', unit: 'nodes \u00d7 cores', width: 104, least: 736, phone: 'p2', about: 'nodes, and cores of each, and GPUs of all; sorts by all cores', kind: size },
		{ key: 'start', head: 'Started', unit: zone(), width: 88, least: 824, phone: 'p2', about: 'when it began, by the clock of this browser', kind: 'when' },
		{ key: 'elapsed_s', head: 'Ran', unit: 'h:min', width: 58, phone: 'p2', label: 'ran', about: 'from its start to its end', kind: 'duration' },
		{ key: 'limit_share', head: 'Limit', unit: '% used', width: 50, least: 1200, kind: 'part', about: 'time that it ran, of its time limit', has: (r) => known(r.limit_share) },
		{ key: 'cpu_share', head: 'CPU', unit: '%', width: 46, least: 870, kind: 'part', about: 'CPU time of what its cores could have worked' },
		{ key: 'memory_share', head: 'Mem', unit: '% asked', width: 54, least: 1150, kind: 'part', about: 'most at once of what was asked for, on the fullest node', has: (r) => known(r.memory_share) },
		{ key: 'gpu_share', head: 'GPU', unit: '%', width: 46, least: 1096, bar: true, kind: gpu, about: 'mean use of its GPUs; \u2013: none asked for', has: (r) => known(r.gpu_share) || r.gpus > 0 },
		{ key: 'io_bytes_s', head: 'I/O', unit: 'MiB/s', width: 56, least: 1256, bar: true, kind: io, about: 'read and written, over the time that it ran; the bar goes from 0.1 to 10,000 MiB/s by powers of ten', has: (r) => known(r.io_bytes_s) },
		{ key: 'share_cpu', is: '', head: 'Where the time went', left: true, width: 122, least: 992, phone: 'p2 bars', down: true, kind: went, about: 'of the time of all cores that the job held, in the order of the key above; sorts by own code' },
		{ key: 'energy_j', head: 'Energy', unit: 'kWh', width: 62, least: 1440, about: 'of the nodes, split among their jobs', kind: (r) => (known(r.energy_j) ? few(r.energy_j / 3.6e6) : '?'), has: (r) => known(r.energy_j) },
		{ key: 'money_lost', head: 'Lost', unit: site.prices?.currency ?? '', width: 56, least: 1440, about: 'what was lost, at the site\u2019s prices', kind: (r) => (known(r.money_lost) ? count(Math.round(r.money_lost)) : '?'), has: (r) => known(r.money_lost) },
		{ key: 'lost_core_s', head: 'Lost', unit: 'core-h', width: 58, phone: 'p1r', after: 'core-h', kind: 'hours', hint: lostOf, about: LOST },
		{ key: 'worst_rule', head: 'Worst finding', left: true, phone: 'p3', kind: finding, hint: (r) => r.worst_text, about: 'what its dearest finding says; +n: n more are on the page of the job. Sorts by rule' },
	].filter((c) => !without.includes(c.key) && (!c.has || has(c.has)));
}

// What a head says of rows: held, lost, money, energy.
export function sumWords(s) {
	const gpu_s = s.lost_gpu_s, eur = known(s.money) ? s.money : costs(s.lost_core_s, gpu_s);

	return [`${cells.hours(s.held_core_s)} core-h held, `, el('b', {}, `${cells.hours(s.lost_core_s)} lost`), s.held_core_s > 0 && known(s.lost_core_s) ? ` (${share(s.lost_core_s / s.held_core_s)})` : '',
		known(eur) ? ` \u00b7 ${money(eur)} lost` : '', known(s.energy_j) ? ` \u00b7 ${kwh(s.energy_j)} used` : '',
		s.without_profile_core_s > 0 && s.held_core_s > 0 ? `; ${share(s.without_profile_core_s / s.held_core_s)} of what was held has no profile: nobody knows what of that was lost` : ''];
}

export function sumsOf(rows) {
	return { held_core_s: sum(rows, 'held_core_s') ?? 0, lost_core_s: sum(rows, 'lost_core_s'), lost_gpu_s: sum(rows, 'lost_gpu_s'), money: sum(rows, 'money_lost'), energy_j: sum(rows, 'energy_j'),
		without_profile_core_s: sum(rows.filter((r) => !known(r.findings)), 'held_core_s') ?? 0 };
}
