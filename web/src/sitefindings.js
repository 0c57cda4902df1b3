// SPDX-License-Identifier: GPL-2.0-or-later
// The pages about findings of many jobs: which cost most and whom to write to, whether that helped, and PIKA's issues.
import { el, name, soft } from './dom.js';
import { before, capital, count, day, plural, share } from './format.js';
import { address, cells, drawParts, filters, known, link, means, others, shell, site, table } from './site.js';
import { spark, weeks } from './spark.js';
import { first, tabs as groups } from './usage.js';
import { wordsOf } from './words.js';

const TABS = [['findings', 'By finding'], ['advice', 'Did advice help?'], ['issues', 'PIKA\u2019s issues']];
const KEPT = ['since', 'until', 'user', 'project', 'cluster'];
const CONTACT = 6; // the contact is behind this week

const money = (v) => (known(v) ? count(Math.round(v)) : '?');
const date = (s) => day(s).slice(5, 10);

// The tabs keep the time and whose jobs these are.
function tabs(current) {
	const args = Object.fromEntries(KEPT.filter((k) => site.arguments[k]).map((k) => [k, site.arguments[k]]));

	return el('nav', { class: 'choice', 'aria-label': 'Findings' }, TABS.map(([page, text]) => el('a', { href: address(page, page === 'advice' && Object.keys(args).length ? { ...args, contacts: 1 } : args),
		'aria-current': page === current ? 'page' : null }, text)));
}

const severity = (s) => el('span', { class: `sev ${s}` }, s.toUpperCase());

// ---- verdicts

// What became of a contact, in words: {text, is: bold, bad or soft}.
export function verdict(c) {
	const change = known(c.expected_core_s_week) ? c.lost_after_core_s_week / c.expected_core_s_week - 1 : null;
	const points = Math.round(100 * change), percent = known(change) && Number.isFinite(change) ? ` (${points > 0 ? '+' : points < 0 ? '\u2212' : ''}${Math.abs(points)} %)` : '';

	if (c.verdict === 'helped')
		return { text: c.verdict + percent, is: 'bold' };
	if (c.verdict === 'no change' || c.verdict === 'worse')
		return { text: c.verdict + percent, is: 'bad' };
	if (c.verdict === 'too early')
		return { text: `${c.verdict}: ${plural(c.runs_after ?? 0, 'run')}`, is: 'soft' };
	return { text: c.verdict + percent, is: c.verdict === 'helped a little' ? '' : 'soft' };
}

function verdictCell(c) {
	if (!c.verdict)
		return '';
	const { text, is } = verdict(c);

	return is === 'bold' ? el('b', {}, text) : is === 'bad' ? el('b', { class: 'warned' }, text) : is === 'soft' ? soft(text) : text;
}

function weeksCell(c) {
	if (!c.weeks?.some(known))
		return '';
	const told = (some) => some.map((v) => (known(v) ? cells.hours(v) : '?')).join(', ');

	return weeks(c.weeks, CONTACT, `lost core-h of each week before the contact: ${told(c.weeks.slice(0, CONTACT))}; after it: ${told(c.weeks.slice(CONTACT))}`);
}

// ---- by finding

const LOST = 'core time that would come back if the finding were followed; a job with several counts in each';

const left = (d) => [
	{ key: 'words', head: 'Finding', left: true, fixed: true, kind: (r) => [severity(r.severity), ' ', el('a', { href: address('findings', { ...site.arguments, finding: r.rule }), title: r.rule, 'aria-current': r.rule === d.finding ? 'true' : null }, wordsOf(r.rule))], about: 'a click shows whose jobs have it' },
	{ key: 'jobs', head: 'Jobs', kind: 'count', fixed: true, about: 'with the finding' },
	{ key: 'users', wide: true, head: 'Users', kind: 'count', fixed: true, about: 'of these jobs' },
	{ key: 'cost_core_s', head: 'Lost', unit: 'core-h', fixed: true, kind: (r) => (r.cost_core_s > 0 ? el('b', {}, cells.hours(r.cost_core_s)) : soft('note')), about: LOST },
	{ key: 'cost_money', head: 'Lost', unit: d.currency, fixed: true, rare: true, kind: (r) => (r.cost_core_s > 0 ? money(r.cost_money) : soft('\u2013')), about: 'at the price of a core-hour' },
	{ key: 'contacted', head: 'Contacted', unit: 'of its users', fixed: true, kind: (r) => (r.contacted ? `${r.contacted} of ${r.users}` : soft(`0 of ${r.users}`)), about: 'in the last 90 days, because of it or of all (jobprof contacted)' },
	{ key: 'cost_points', wide: true, head: 'Over time', unit: 'core-h', left: true, fixed: true, rare: true, kind: (r) => (r.cost_points && r.cost_core_s > 0 ? spark(r.cost_points, `lost core-h over time: ${r.cost_points.map((v) => cells.hours(v)).join(', ')}`, 56) : soft('\u2013')), about: 'of each day of the last 30, or as many parts of another time, from 0 to its highest' },
];

const application = (r) => [name(r.name || r.program || '?', 26), r.nodes ? soft(` ${plural(r.nodes, 'node')}`) : ''];

const right = (d) => [
	{ key: 'user', head: 'User', left: true, fixed: true, kind: (r) => [link('jobs', { ...site.arguments, all: null, finding: d.finding, user: r.user, since: site.arguments.since ?? '30d' }, name(r.user, 20)), soft(' ', name(r.account, 16))], about: 'and project; opens the jobs' },
	{ key: 'name', head: 'Application', left: true, fixed: true, kind: application, about: 'name of the jobs, which are alike in user, program and size' },
	{ key: 'jobs', head: 'Jobs', kind: 'count', fixed: true, about: 'of this application with the finding' },
	{ key: 'cost_core_s', head: 'Lost', unit: 'core-h', fixed: true, kind: (r) => el('b', {}, cells.hours(r.cost_core_s)), about: LOST },
	{ key: 'cost_money', head: 'Lost', unit: d.currency, fixed: true, rare: true, kind: (r) => money(r.cost_money), about: 'at the price of a core-hour' },
	{ key: 'contact', wide: true, head: 'Contacted', unit: 'when, by whom, ticket', left: true, fixed: true, kind: (r) => (known(r.contacted_at) ? [`${date(r.contacted_at)} `, name(r.contacted_by ?? '', 12), ' ', name(r.ticket ?? '', 14)] : soft('not yet')), about: 'the last time, because of this finding or of all' },
	{ key: 'weeks', wide: true, head: 'Before | after', unit: 'lost core-h, each week', left: true, fixed: true, rare: true, kind: weeksCell, about: 'of 6 weeks before and up to 8 after the contact, which is the line' },
	{ key: 'verdict', head: 'Since then', left: true, fixed: true, rare: true, kind: verdictCell, about: 'lost after the contact against before, for each core-hour held; needs 5 runs and a week' },
];

const quoted = (word) => (/^[\w./@%+:-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`);

export const command = (r) => `jobprof contacted ${quoted(r.signature)} --finding ${quoted(r.rule)} --ticket T-`;

function copy(text) {
	return el('button', { type: 'button', class: 'copy', onclick: (e) => {
		navigator.clipboard?.writeText(text);
		e.target.textContent = 'copied';
	} }, 'copy', el('span', { class: 'sr' }, ` ${text}`));
}

function detail(r, columns) {
	return el('tr', { class: 'detail' }, el('td', { colspan: columns, class: 'l' }, el('div', { class: 'tx' }, known(r.job) ? ['Dearest: job ', el('a', { href: address(`job/${r.job}`) }, r.job), '. '] : '', name(before(r.text ?? '', r.remedy_code), 600),
		r.remedy_code ? el('span', { class: 'do' }, el('code', {}, name(r.remedy_code, 300))) : '', site.sees_all && !known(r.contacted_at) ? el('code', { class: 'cmd' }, command(r), copy(command(r))) : '')));
}

// A row and what it says in full, which a click or its button shows; the first that nobody was written to about is open.
function opening(t, rows, columns) {
	let open = null;

	const show = (tr, r, is) => {
		tr.classList.toggle('on', is);
		tr.querySelector('.opens').setAttribute('aria-expanded', String(is));
		if (is)
			tr.after(detail(r, columns));
		else
			tr.nextElementSibling.remove();
	};
	const all = [...t.querySelector('tbody').rows].map((tr, i) => [tr, rows[i]]);

	for (const [tr, r] of all) {
		const flip = () => {
			if (open && open[0] !== tr)
				show(...open, false);
			const is = open?.[0] !== tr;

			show(tr, r, is);
			open = is ? [tr, r] : null;
		};

		tr.cells[0].prepend(el('button', { type: 'button', class: 'opens', 'aria-expanded': 'false', 'aria-label': `What to tell ${r.user}`, onclick: flip }));
		tr.addEventListener('click', (e) => {
			if (!e.target.closest('a, button'))
				flip();
		});
	}
	const begin = all.find(([, r]) => !known(r.contacted_at));

	if (begin && matchMedia('(min-width: 621px)').matches)
		begin[0].querySelector('.opens').click();
	return t;
}

function users(d) {
	const rule = d.rows.find((r) => r.rule === d.finding), columns = right(d);

	if (!rule)
		return el('section', {}, el('p', { class: 'none' }, 'No job in this choice has this finding.'));
	const t = table(`Whose jobs have ${d.finding}`, columns, d.users, { keys: false });

	opening(t, d.users, columns.length);
	return el('section', { id: 'who', 'aria-labelledby': 'h-who' }, el('div', { class: 'head' }, el('h2', { id: 'h-who' }, capital(wordsOf(rule.rule)), el('code', { class: 'soft' }, ` ${rule.rule}`)),
		soft(`${plural(rule.users, 'user')} of ${plural(rule.projects, 'project')}; `, el('b', {}, `${count(rule.users - rule.contacted)} not contacted`))),
	rule.cost_core_s > 0 ? '' : el('p', { class: 'soft small' }, 'A note: it has no core-hours.'), t,
	d.signatures > d.users.length ? el('p', { class: 'soft' }, `${count(d.signatures - d.users.length)} more with less. `, link('findings', { ...site.arguments, finding: d.finding, all: 1 }, 'All of them')) : '');
}

export function findings({ findings: d }) {
	const t = d.total, columns = left(d);

	shell('Findings', [el('b', {}, `${cells.hours(t.lost_core_s)} core-h lost`), t.held_core_s > 0 && known(t.lost_core_s) ? `: ${share(t.lost_core_s / t.held_core_s)} of what ${plural(t.jobs, 'job')} held` : '',
		known(t.money_lost) ? `, ${money(t.money_lost)} ${d.currency ?? ''}` : '', t.held_core_s > t.profiled_core_s ? `; ${share(1 - t.profiled_core_s / t.held_core_s)} of it has no profile, and was not judged` : ''], filters('30d', { finding: true, state: true, nodes: true, ran: true, node: true, jobs: true }), tabs('findings'),
	d.rows.length ? el('div', { class: 'md' }, el('section', { 'aria-label': 'Findings' }, table('Findings by cost', columns, d.rows)), users(d)) : el('p', { class: 'none' }, 'No job in this choice has a finding. ', link('findings', { since: 'all' }, 'All jobs of all times')),
	means([...columns, ...right(d).slice(1)]));
	if (d.finding)
		others([['Users of this finding', 'advice', { since: '30d', ...site.arguments, finding: d.finding, all: null }]]);
	for (const a of document.querySelectorAll('.md [aria-current]'))
		a.closest('tr').classList.add('now');
	drawParts(document.body);
	return { findings: d };
}

// ---- whether contacts helped

const contactColumns = (isMoney) => [
	{ key: 'day', head: 'Contacted', left: true, kind: (c) => date(c.at), about: 'the day' },
	{ key: 'ticket', wide: true, head: 'Ticket', left: true, kind: (c) => name(c.ticket ?? '', 20), about: 'of the contact' },
	{ key: 'who', wide: true, head: 'By', left: true, kind: (c) => name(c.who ?? '', 16), about: 'who noted it' },
	{ key: 'user', head: 'User', left: true, kind: (c) => [c.user ? link('jobs', { user: c.user, ...(c.signature ? { signature: c.signature } : {}), since: 'all' }, name(c.user, 20)) : soft('?'), soft(' ', name(c.account ?? '', 16))], about: 'and project; opens the jobs' },
	{ key: 'name', wide: true, head: 'Application', left: true, kind: (c) => (c.name ? name(c.name, 26) : soft('all')), about: 'name of the jobs that it was about' },
	{ key: 'words', head: 'Finding', left: true, kind: (c) => (c.rule ? el('span', { title: c.rule }, wordsOf(c.rule)) : soft('any')), about: 'that it was about' },
	{ key: 'lost_before_core_s_week', wide: true, head: 'Before', unit: 'lost core-h a week', kind: 'hours', about: 'mean of 6 weeks before the contact' },
	{ key: 'lost_after_core_s_week', wide: true, head: 'After', unit: 'lost core-h a week', kind: (c) => (known(c.lost_after_core_s_week) ? cells.hours(c.lost_after_core_s_week) : soft('not known')), about: 'mean of up to 8 weeks since' },
	{ key: 'saved_core_s_week', head: 'Saved', unit: 'core-h a week', kind: (c) => (known(c.saved_core_s_week) ? el(c.saved_core_s_week > 0 ? 'b' : 'span', {}, cells.hours(c.saved_core_s_week)) : soft('?')), about: 'of what would be lost if the core time since had the lost share of before: who runs less has not improved' },
	{ key: 'runs_after', wide: true, head: 'Runs', unit: 'since', kind: 'count', about: 'jobs since the contact' },
	{ key: 'weeks', head: 'Each week', unit: 'lost core-h, line = contact', left: true, kind: weeksCell, rare: true, about: 'of 6 weeks before and up to 8 after, from 0 to its highest' },
	{ key: 'verdict', head: 'Verdict', left: true, kind: verdictCell, about: 'helped: at least 30 % less; no change: less than 12 %; needs 5 runs and a week' },
].map((c) => ({ ...c, fixed: true, isMoney }));

// How many of these contacts became what: "2 helped, 1 a little, 3 did not, of 1 nobody can say yet".
export function tally(rows) {
	const n = (...words) => rows.filter((c) => words.includes(c.verdict)).length, helped = n('helped'), little = n('helped a little'), not = n('no change', 'worse'), left = rows.length - helped - little - not;

	return [`${count(helped)} helped`, little && `${count(little)} a little`, not && `${count(not)} did not`, left && `of ${count(left)} nobody can say yet`].filter(Boolean).join(', ');
}

export function contacts({ advice: d }) {
	const columns = contactColumns();

	shell('Did it help to write to users?', d.rows.length ? [`${plural(d.contacts, 'contact')}: `, el('b', {}, tally(d.rows)), '. Those that helped saved ', el('b', {}, `${cells.hours(d.saved_core_s_week)} core-h a week`),
		known(d.saved_money_week) ? `, ${money(52 * d.saved_money_week)} ${d.currency ?? ''} a year at today\u2019s rate` : '', '.'] : 'No contact is noted: jobprof contacted JOB --ticket T notes one.',
	filters('all', { name: true, state: true, partition: true, finding: true, nodes: true, ran: true, node: true, jobs: true }), tabs('advice'), d.rows.length ? table('Contacts', columns, d.rows) : null, d.rows.length ? means(columns) : null);
	return { advice: d };
}

// ---- PIKA's issues

const ISSUES = [['ict', 'ICT', 'core-h', 'hours', 'idle CPU time'], ['icr', 'ICR', '%', 'part', 'idle CPU time of the time of all cores'], ['max_ucr', 'Max UCR', 'of 1', 'number', 'highest share of cores of a job that were not used'],
	['max_cli', 'Max CLI', 'std. dev.', 'number', 'highest CPU load imbalance'], ['max_iob', 'Max IOB', 'phases', 'number', 'most periodic phases of CPU load against input and output'], ['max_ioc', 'Max IOC', 'ops/s', 'number', 'highest rate of opens and closes'],
	['max_ml', 'Max ML', 'slope', 'number', 'highest linear increase of memory, with both axes scaled to 1'], ['igt', 'IGT', 'GPU-h', 'hours', 'idle GPU time'], ['igr', 'IGR', '%', 'part', 'idle GPU time of the time of all GPUs'],
	['max_ugr', 'Max UGR', 'of 1', 'number', 'highest share of GPUs of a job that were not used'], ['max_gli', 'Max GLI', 'std. dev.', 'number', 'highest GPU load imbalance'], ['max_so', 'Max SO', 'phases', 'number', 'most periodic phases of CPU against GPU']];

const ofIssues = (by) => [first(by), { key: 'cluster', head: 'Cluster', left: true, kind: 'text', rare: true, fixed: true }, { key: 'runs', head: 'Runs', kind: 'count', about: 'jobs of an hour and more, of two cores and more, that completed' },
	...ISSUES.map(([key, head, unit, kind, about]) => ({ key, head, unit, about, rare: !/^ic/.test(key), kind: (r) => (known(r[key]) ? cells[kind](r[key]) : soft('\u2013')) }))];

export function issues({ issues: d }) {
	const columns = ofIssues(d.by);

	shell('PIKA\u2019s issues', [el('b', {}, plural(d.sum.runs, 'job')), ' that completed and ran an hour or more on two cores or more: ', el('b', {}, `${cells.hours(d.sum.ict)} core-h idle`), '. By PIKA\u2019s formulas, so that old and new numbers can be compared; an en dash is what is not known, as of jobs without GPUs.',
		d.without_profile > 0 ? ` ${share(d.without_profile)} of what such jobs held has no profile.` : ''], filters('30d'), tabs('issues'), groups(d.by),
	d.rows.length ? table('PIKA\u2019s issues', columns, d.rows, { sort: 'ict', sum: d.sum }) : el('p', { class: 'none' }, 'No job matches. ', link('issues', { since: 'all' }, 'All jobs of all times')), means(columns));
	drawParts(document.body);
	return { issues: d };
}
