// SPDX-License-Identifier: GPL-2.0-or-later
// A user's own page: does any job need me now, and what should I change first?
import { el, low, name, section, soft } from './dom.js';
import { before, capital, cores, count, day, plural, share } from './format.js';
import { columnsOf, folded, hasPage, idOf, sumWords, sumsOf, toggle, whole } from './joblist.js';
import { runningColumns, runningNow, runningWords } from './mine.js';
import { rowTable } from './rows.js';
import { coordinated } from './sees.js';
import { address, cells, copy, costs, drawParts, few, filters, hm, known, kwh, link, means, money, noTable, others, severity, shell, site, table } from './site.js';
import { svg } from './spark.js';
import { wordsOf } from './words.js';

const FIRST = 3, DAYS = 60, RECENT = 8;

// Whose page it is: staff may look at that of another user.
const whose = () => site.arguments.user ?? '@me';
const person = () => site.arguments.user ?? site.user;

// ---- what to change first

// "70 of 72 jobs: WHAT; the rest": what was seen, and what follows from it.
export function observed(r) {
	const text = r.text.replace(/^[\d,]+ of [\d,]+ (?:jobs?|tasks?): /, ''), m = /^(.*?)(?:; |\. (?=[A-Z0-9#]))(.*)$/s.exec(text);

	return m ? [m[1], m[2]] : [text.replace(/\.$/, ''), ''];
}

// What a change is worth: core-hours and money, else what it is good for.
function worth(r) {
	const eur = costs(r.cost_core_s, null);

	if (r.cost_core_s > 0)
		return [cores(r.cost_core_s), eur === null ? '' : money(eur)];
	return ['', r.unit === 's' ? 'would start sooner' : r.unit === 'MiB' ? 'memory held for nothing' : ''];
}

function change(r, i) {
	const [what, rest] = observed(r), [big, sub] = worth(r), code = r.remedy_code, noun = r.safe_of === 1 ? 'job' : 'jobs';
	const safe = known(r.safe_of) && r.safe_of > 0 ? `safe in ${count(r.safe)} of ${count(r.safe_of)} ${noun}` : '';

	return el('li', { class: r.severity }, el('span', { class: 'no' }, i + 1), severity(r.severity),
		el('div', { class: 'txt' }, el('b', {}, name(r.name || r.program || '?', 60), ': ', what[0].toLowerCase() + what.slice(1)),
			el('span', { class: 'ev' }, link('jobs', { user: whose(), signature: r.signature, finding: r.rule, since: '30d' }, `${count(r.jobs)} of ${plural(r.of, 'job')}`), `, last ${day(r.last).slice(5)}. `, code && safe ? '' : capital(before(rest, code))),
			code ? el('span', { class: 'do' }, el('code', {}, code), copy(code), safe ? soft(` ${safe}`) : '') : ''),
		el('span', { class: 'cost' }, big ? el('span', { class: 'big' }, big) : '', el('span', { class: 'sub' }, sub)));
}

// The dearest first; those whose cost is not known come last.
const dearest = (rows) => [...rows].sort((a, b) => (b.cost_core_s ?? -1) - (a.cost_core_s ?? -1));

function changes(rows) {
	const list = el('ol', { class: 'find' }, rows.slice(0, FIRST).map(change)), left = rows.slice(FIRST);
	const more = el('button', { type: 'button', class: 'more', onclick: () => {
		list.append(...left.map((r, i) => change(r, i + FIRST)));
		more.remove();
	} }, `${count(left.length)} more: ${left.slice(0, 3).map((r) => `${r.name || r.program || '?'}, ${wordsOf(r.rule)}`).join('; ')}${left.length > 3 ? ' \u2026' : ''}`);

	return section('change', 'What to change first', 'over all jobs of 30 days, the dearest first', rows.length ? list : el('p', { class: 'none' }, 'No finding in 30 days: nothing is known that would save time.'), left.length ? more : '');
}

// ---- this month and the last one, by days

// Days of a month until the day of the month that is today's.
export function monthOf(days, month, until) {
	return days.filter((d) => d.day.startsWith(month) && Number(d.day.slice(8)) <= until);
}

const total = (days, key) => days.reduce((s, d) => (known(d[key]) ? (s ?? 0) + d[key] : s), null);

function monthBefore(month) {
	const [y, m] = month.split('-').map(Number);

	return m > 1 ? `${y}-${String(m - 1).padStart(2, '0')}` : `${y - 1}-12`;
}

// "−24 % better": words beside the sign.
function changed(now, before, words) {
	const d = now / before - 1;

	if (!known(now) || !known(before) || !(before > 0))
		return '';
	return Math.abs(d) < 0.005 ? 'same' : `${d > 0 ? '+' : '\u2212'}${count(Math.abs(100 * d))} % ${d < 0 ? words[0] : words[1]}`;
}

export function monthTable(now, before, names) {
	const all = [['Lost', 'lost_core_s', (v) => `${cells.hours(v)} core-h`, ['better', 'worse']], ['Lost on GPUs', 'lost_gpu_s', (v) => `${cells.hours(v)} GPU-h`, ['better', 'worse']],
		['Money lost', 'money_lost', money, ['better', 'worse']], ['Energy used', 'energy_j', kwh, ['less', 'more']]];
	const shareOf = (d) => (known(total(d, 'lost_core_s')) && total(d, 'held_core_s') > 0 ? share(total(d, 'lost_core_s') / total(d, 'held_core_s')) : '?');
	const rows = all.filter(([, key]) => known(total(now, key)) || known(total(before, key))).map(([label, key, form, words]) => {
		const a = total(now, key), b = total(before, key);

		return el('tr', {}, el('th', { scope: 'row' }, label), el('td', {}, known(a) ? form(a) : '?'), el('td', {}, known(b) ? form(b) : '?'), el('td', { class: 'soft' }, changed(a, b, words)));
	});

	rows.splice(1, 0, el('tr', {}, el('th', { scope: 'row', class: 'in' }, 'of what was held'), el('td', {}, shareOf(now)), el('td', {}, shareOf(before)), el('td', { class: 'soft' }, `of ${cells.hours(total(now, 'held_core_s'))} core-h`)));
	if (![now, before].some((days) => known(total(days, 'energy_j'))))
		rows.push(el('tr', {}, el('th', { scope: 'row' }, 'Energy'), el('td', { class: 'soft', colspan: 3 }, 'not known: no profile has readings of energy')));
	return el('table', { class: 'mon' }, el('thead', {}, el('tr', {}, el('td'), names.map((n) => el('th', { scope: 'col' }, n)), el('th', { scope: 'col' }, 'change'))), el('tbody', {}, rows));
}

const dayOf = (s) => day(s).slice(0, 10);

function bars(days) {
	const of = new Map(days.map((d) => [d.day, d])), list = Array.from({ length: DAYS }, (_, i) => dayOf(site.now - 86400 * (DAYS - 1 - i))).map((d) => of.get(d) ?? { day: d, held_core_s: 0, lost_core_s: 0 });
	const w = 468, h = 64, b = w / DAYS, most = Math.max(...list.map((d) => d.held_core_s ?? 0)), top = Math.max(1, most), y = (v) => (h * (v ?? 0)) / top;
	const one = (cls, i, v) => svg('rect', { class: cls, x: i * b, width: b - 1.5, y: h - y(v), height: y(v) });

	return el('div', {}, svg('svg', { class: 'days', viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `Core-hours of each of ${DAYS} days, most ${cells.hours(most)}; dark: lost` },
		list.map((d, i) => svg('g', {}, svg('title', {}, `${d.day}: ${cells.hours(d.held_core_s)} core-h held, ${cells.hours(d.lost_core_s)} lost`), one('u', i, d.held_core_s), one('l', i, d.lost_core_s)))),
	el('div', { class: 'ends' }, el('span', {}, list[0].day.slice(5)), el('span', {}, 'core-hours a day, most ', cells.hours(most), ': ', el('span', { class: 'sw k1' }), 'held ', el('span', { class: 'sw k2' }), 'lost'), el('span', {}, 'today')));
}

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

function month(days) {
	const today = dayOf(site.now), m = today.slice(0, 7), was = monthBefore(m), until = Number(today.slice(8)), title = (x) => MONTHS[Number(x.slice(5)) - 1];

	return section('month', 'Lost this month', `1 to ${until} ${title(m)} against 1 to ${until} ${title(was)}`, monthTable(monthOf(days, m, until), monthOf(days, was, until), [title(m), title(was)]), bars(days));
}

// ---- applications

// Each dot a run, the last ones dark; the line is the median of those before.
function runs(r) {
	if (!r.points.length)
		return '';
	const w = 220, h = 34, s = r.points.map((p) => p[1]), low_s = Math.min(...s) * 0.94, high = Math.max(...s) * 1.03, t0 = r.points[0][0], t1 = Math.max(site.now, t0 + 1);
	const x = (t) => 3 + ((w - 6) * (t - t0)) / (t1 - t0), y = (v) => h - 3 - ((h - 6) * (v - low_s)) / Math.max(1, high - low_s), said = `${plural(r.points.length, 'run')}, ${hm(Math.min(...s))} to ${hm(Math.max(...s))}`;

	return svg('svg', { class: 'runs', viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': said }, svg('title', {}, said), known(r.median_s) ? svg('line', { x1: 0, x2: w, y1: y(r.median_s), y2: y(r.median_s) }) : [],
		r.points.map((p, i) => svg('circle', { class: i >= r.points.length - RECENT ? 'n' : '', cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 2 })));
}

const percent = (v) => `${v > 0 ? '+' : '\u2212'}${Math.abs(100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0)} %`;

function trend(r) {
	if (r.trend === 'too few runs')
		return soft(r.trend);
	if (r.trend === 'steady')
		return soft('\u2192 steady');
	const said = `${r.trend === 'slower' ? '\u2197' : '\u2198'} ${percent(r.change)} ${r.trend}`;

	return r.trend === 'slower' ? el('b', { class: 'warn c' }, said) : said;
}

function enough(r) {
	const gib = (mb) => few(mb / 1024);

	return [known(r.p95_s) ? [hm(r.p95_s), known(r.limit_s) ? soft(` of ${hm(r.limit_s)}`) : ''] : '?', ', ', known(r.peak_mb) ? [`${gib(r.peak_mb)} GiB`, known(r.mem_asked_mb) ? soft(` of ${gib(r.mem_asked_mb)}`) : ''] : '?'];
}

function why(r) {
	if (r.trend !== 'slower' && r.trend !== 'faster')
		return '';
	const both = known(r.before_job) && known(r.recent_job) && r.before_job !== r.recent_job;

	return [known(r.why) ? `mostly ${r.why}: ${hm(Math.abs(r.why_s))} of ${hm(Math.abs(r.recent_s - r.median_s))} ` : 'not known ', both ? el('a', { href: address('compare', { jobs: `${r.before_job},${r.recent_job}` }) }, 'compare') : ''];
}

const appColumns = [
	{ key: 'name', head: 'Application', left: true, fixed: true, phone: 'p1', about: 'jobs of one user, program, size and name but for its digits', kind: (r) => [link('jobs', { signature: r.signature, since: '30d' }, el('b', {}, name(r.name ?? '?', 30))), ' ', el('code', { class: 'soft' }, name((r.program ?? '').split('/').pop(), 20))] },
	{ key: 'nodes', head: 'On', unit: 'nodes \u00d7 cores', fixed: true, phone: 'p2', about: 'nodes, and cores of each, and GPUs of all: of the last run', kind: (r) => [`${cells.count(r.nodes)} \u00d7 ${known(r.cores) && r.nodes ? few(r.cores / r.nodes).replace(/\.0+$/, '') : '?'}`, r.gpus ? soft(` +${count(r.gpus)}G`) : ''] },
	{ key: 'jobs', head: 'Runs', unit: '30 days', fixed: true, phone: 'p2', label: 'runs', kind: 'count', about: 'jobs in 30 days; of arrays each task' },
	{ key: 'median_s', head: 'Median', unit: 'h:min', fixed: true, phone: 'p2', label: 'median', kind: 'duration', about: 'median time of completed runs before the last 8' },
	{ key: 'recent_s', head: 'Last 8', unit: 'h:min', fixed: true, phone: 'p2', label: 'last 8', kind: 'duration', about: 'median time of the last 8 completed runs' },
	{ key: 'trend', head: 'Trend', left: true, fixed: true, phone: 'p1r', kind: trend, about: 'the last 8 against the median before; steady: within 5 %, or within 3 median deviations of the runs before' },
	{ key: 'points', head: 'Run times', unit: 'each dot a run, dark: last 8', left: true, fixed: true, kind: runs, about: 'the last 60 completed runs over 30 days; the line is the median' },
	{ key: 'lost_share', head: 'Lost', unit: '% of held', fixed: true, phone: 'p2', label: 'lost', after: '%', kind: 'part', about: 'of what its jobs with a profile held' },
	{ key: 'p95_s', is: '', head: 'Would have been enough', unit: '95 % of runs; most memory', left: true, fixed: true, phone: 'p2', label: 'enough:', kind: enough, about: 'the time that 95 % of completed runs took at most, and the highest peak of memory of all, of what the last one asked for' },
	{ key: 'why', head: 'Why it changed', left: true, fixed: true, phone: 'p3', kind: why, about: 'the state in which runs spent most of the difference; compare splits it between two typical runs' },
];

// The page of applications alone, of whomever its filters name.
export function apps({ apps: d }) {
	const slow = d.rows.filter((r) => r.trend === 'slower').length;

	shell('Applications', [el('b', {}, plural(d.matching, 'application')), d.rows.length < d.matching ? `, of which ${count(d.rows.length)} that held most are here` : '', slow ? [': ', el('b', {}, `${count(slow)} became slower`)] : ''], filters('30d'),
		d.rows.length ? table('Applications', [{ key: 'user', head: 'User', left: true, fixed: true, phone: 'p2', kind: (r) => link('apps', { ...site.arguments, user: r.user }, name(r.user ?? '?', 20)) }, ...appColumns], d.rows, { more: 'apps pp' })
			: el('p', { class: 'none' }, 'No such job has a signature, which needs a profile. ', link('apps', { since: 'all' }, 'All jobs of all times')), means(appColumns));
	return { apps: d };
}

// ---- the page

function isNew(d) {
	return !d.jobs.rows.length && !d.running?.rows?.length && !d.running?.waiting_rows?.length && !d.days.rows.length && !d.apps.rows.length;
}

// "1,234 jobs, 5,600 core-h, of which 210 lost".
export function sumOf(r) {
	return r?.jobs ? `${plural(r.jobs, 'job')}, ${cells.hours(r.held_core_s)} core-h, of which ${known(r.lost_core_s) ? cells.hours(r.lost_core_s) : 'it is not known how much is'} lost` : 'no job';
}

// Who leads projects finds their sums and pages here; of more projects than the server has rows for, those that lost most have sums.
function leads(d) {
	const mine = site.arguments.user ? [] : coordinated(site), of = d.projects, rows = new Map(of?.rows?.map((r) => [r.project, r])), isWhole = of && of.groups === of.rows.length;

	return mine.length ? section('projects', 'Projects that you coordinate', 'in 30 days', el('ul', { class: 'found' }, mine.map((a) => el('li', {}, el('b', {}, name(a, 40)), rows.has(a) || isWhole ? `: ${sumOf(rows.get(a))} \u00b7 ` : ': ', link('usage', { project: a, by: 'user' }, 'usage'), ', ', link('jobs', { project: a }, 'jobs'), ', ', link('findings', { project: a }, 'findings'))))) : null;
}

function newcomer() {
	return section('new', site.arguments.user ? `No jobs of ${person()} are known yet` : 'No jobs of yours are known yet', '', el('p', { class: 'words' }, 'A job is listed here when it has ended, where the cluster profiles it. Nothing has to be loaded or linked. To try it:'), el('p', {}, el('code', {}, 'sbatch --wrap "sleep 60; hostname"'), copy('sbatch --wrap "sleep 60; hostname"')),
		el('p', { class: 'soft' }, `Looked for: jobs of ${person()} in the last 62 days. If you did run some, they may be of another cluster, or their profile was switched off (--profile=none). `, link('jobs', { user: whose(), since: 'all' }, 'Look in all times'), '.'),
		site.sees_all ? el('p', { class: 'words' }, 'You see all jobs: ', link('jobs', {}, 'those of 7 days'), ', ', link('usage', {}, 'what was used and lost'), ', ', link('findings', {}, 'why'), '.') : '');
}

function week(rows) {
	let t = null;
	const list = folded(rows), columns = columnsOf(rows, () => t, ['user', 'account', 'energy_j', 'money_lost']);

	t = rowTable({ label: 'Jobs of the last 7 days', columns, key: 'start', down: true, open: (r) => {
		if (toggle(r))
			t.set(t.list);
		else if (hasPage(r))
			location.href = address(`job/${idOf(r)}`);
	} });
	const part = low(section('week', 'Last 7 days', el('span', { class: 'soft' }, el('b', {}, `${cells.hours(sumsOf(rows).lost_core_s ?? 0)} core-h`), ' lost \u00b7 ', link('jobs', { user: whose(), since: '30d' }, 'all 30 days')),
		whole(rows), t.orderChoice(), t.e, rows.length ? '' : el('p', { class: 'none' }, 'No job began in the last 7 days.')));

	t.e.hidden = !rows.length;
	return { part, columns, show: () => t.set(list) };
}

// "wrf is 18 % slower": what became slower is said at once.
function slower(rows) {
	const some = rows.filter((r) => r.trend === 'slower');

	return some.length ? [' \u00b7 ', el('a', { href: '#apps' }, el('b', {}, `${name(some[0].name ?? '?', 30).textContent}: ${percent(some[0].change)} slower`), some.length > 1 ? ` and ${count(some.length - 1)} more` : '')] : '';
}

export function home(d) {
	const rows = d.jobs.rows, s = sumsOf(rows), late = week(rows);
	const first = dearest(d.advice.rows)[0], head = [runningWords(d.running), el('b', {}, `${rows.length ? plural(rows.length, 'job') : 'no job'} in 7 days`), rows.length ? [': ', sumWords(s)] : '', first ? [' \u00b7 change first: ', el('b', {}, `${first.name || first.program || '?'} (${wordsOf(first.rule)})`)] : '', slower(d.apps.rows)];

	if (isNew(d)) {
		shell(person(), 'no job is known', leads(d), newcomer());
		noTable();
		return d;
	}
	shell(person(), head, runningNow(d.running), el('div', { class: 'top home' }, changes(dearest(d.advice.rows)), month(d.days.rows)), leads(d), late.part,
		d.apps.rows.length ? low(section('apps', 'Applications', `same program, name and size${d.apps.matching > d.apps.rows.length ? `: ${count(d.apps.rows.length)} of ${count(d.apps.matching)}, which held most` : ''}`, table('Table: applications', appColumns, d.apps.rows, { keys: false, more: 'apps pp' }))) : null,
		means([...(d.running?.rows ? runningColumns : []), ...late.columns, ...appColumns]));
	others([['Running now', 'running', { user: whose() }], ['What to change first', 'advice', { user: whose() }], ['By day', 'usage', { user: whose(), by: 'day', since: '62d' }], ['Applications', 'apps', { user: whose() }]]);
	late.show();
	drawParts(document.body);
	return d;
}
