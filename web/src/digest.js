// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof digest --html`: what the jobs of a week held and lost, and whom to write to first.
import { el, low, name, section, soft } from './dom.js';
import { cores, count, energy, number, plain, plural, share, time } from './format.js';
import { address, drawParts, few, known, site } from './site.js';
import { weeks } from './spark.js';
import { wordsOf } from './words.js';

// On a server's page a link to these jobs or rows, of the same time and filter; in a file that was mailed only the text.
function to(page, args, ...children) {
	const { since = '7d', until, sort: _, ...rest } = site?.arguments ?? {};

	return site ? el('a', { href: address(page, { since, until, ...rest, ...args }) }, ...children) : children;
}

const link_ = (page, text) => to(page, {}, text);
const job = (id) => (site ? el('a', { href: address(`job/${id}`) }, id) : id);
const lost = (row) => (known(row.lost_core_s) ? cores(row.lost_core_s) : '?');
const hours = (v) => (known(v) ? few(v / 3600) : '?');
const money = (v, d) => (known(v) ? `${v < 100 ? number(v) : count(v)} ${plain(d.currency ?? '')}` : '?');

// Points of percent above the time before; worse and better are words, too.
function change(points) {
	if (!known(points))
		return soft('not known');
	const p = 100 * points;

	if (Math.abs(p) < 0.05)
		return soft('same');
	return `${p > 0 ? '+' : '\u2212'}${Math.abs(p).toFixed(Math.abs(p) < 9.95 ? 1 : 0)}`;
}

const longer = (v) => (known(v) ? `${v < 0 ? '\u2212' : '+'}${share(Math.abs(v))}` : soft('not known'));

// The jobs that options named, as they were given.
function filter(d) {
	const words = Object.entries(d.filter ?? {}).map(([option, word]) => [` --${option} `, name(word)]);

	return words.length ? ['Only jobs of', words, '. '] : '';
}

// "the first 10 of 57; " of a list that is longer than what is shown.
function first(d, list) {
	return d.of?.[list] > d[list].length ? `the first ${d[list].length} of ${count(d.of[list])}; ` : '';
}

function helped(a) {
	const all = a.saved_by_all_core_s_week, saved = a.helped ? `: ${cores(a.saved_core_s_week)} a week` : '';

	return `${a.helped} of ${plural(a.contacts, 'contact')} helped${saved}${known(all) && all !== a.saved_core_s_week ? `; all of which it is known together: ${cores(all)} a week` : ''}.`;
}

// Today is a whole day of the time before, and not over.
function timeBefore(d) {
	const days = known(d.to) ? 0 : (d.from - d.before_from) / 86400;

	return days > 1.5 && Math.abs(days - Math.round(days)) < 0.05 ? `the ${count(days)} days` : 'as long a time';
}

function sentence(d) {
	const t = d.total, b = d.before;

	return [el('b', {}, `${plural(t.jobs, 'job')} held ${cores(t.held_core_s)} and lost ${lost(t)}`), known(t.lost_share) ? ` (${share(t.lost_share)})` : '',
		known(t.money_lost) ? [': ', el('b', {}, money(t.money_lost, d)), ` of ${money(t.money_held, d)}`] : '',
		known(b?.lost_core_s) ? `. In ${timeBefore(d)} before they lost ${cores(b.lost_core_s)} (${share(b.lost_share)})` : '', '. ',
		t.held_core_s > t.profiled_core_s ? `${share(1 - t.profiled_core_s / t.held_core_s)} of what was held has no profile, and is not in what was lost. ` : '',
		t.energy_j ? [`Energy: ${energy(t.energy_j)}`, t.energy_money ? `, ${money(t.energy_money, d)}` : '', t.co2_kg ? `, ${number(t.co2_kg)} kg of CO\u2082` : '',
			b?.energy_j ? `; before ${energy(b.energy_j)}` : '', '.'] : ''].flat();
}

// ---- whom to write to first

const LISTED = 5; // of those to write to, the others stand below

function asked(r, i, d) {
	const text = r.text ? [name(r.text.replace(/\.$/, ''), 300), '; '] : '';

	return el('li', { class: r.severity ?? 'warn' }, el('span', { class: 'no' }, i + 1), el('span', { class: 'txt' }, el('b', {}, 'Write to ', to('jobs', { user: r.user, signature: r.signature, finding: r.rule }, name(r.user, 20)),
		known(r.account) && r.account !== '' ? [' (', name(r.account, 20), ')'] : '', `: ${wordsOf(r.rule)}, `, name(r.name || '?', 30), `, ${plural(r.jobs, 'job')}`),
	el('span', { class: 'ev' }, text, 'such as job ', job(r.job ?? String(r.job_id))), r.remedy_code ? el('span', { class: 'do' }, el('code', {}, name(r.remedy_code, 300))) : ''),
	el('span', { class: 'cost' }, el('span', { class: 'big' }, cores(r.cost_core_s)), known(r.cost_money) ? el('span', { class: 'sub' }, money(r.cost_money, d)) : ''));
}

function ask(d) {
	return d.ask.length ? low(section('ask', 'Whom to write to first', `${first(d, 'ask')}nobody did in the last 90 days`, el('ol', { class: 'find ask' }, d.ask.slice(0, LISTED).map((r, i) => asked(r, i, d))),
		d.ask.length > LISTED ? el('details', {}, el('summary', {}, `${d.ask.length - LISTED} more`), el('ol', { class: 'find ask' }, d.ask.slice(LISTED).map((r, i) => asked(r, i + LISTED, d)))) : '')) : null;
}

// ---- what changed

// Lines of what is different from the time before, as [what, now, before, verdict, reason]; what is within `same` is the same.
export function changes(d) {
	const t = d.total, b = d.before, out = [], same = 0.02;
	const judge = (now, was, isMoreWorse) => (Math.abs(now / was - 1) < same ? 'same' : isMoreWorse === null ? '' : now > was === isMoreWorse ? 'worse' : 'better');
	const line = (what, now, was, show, isMoreWorse, why = '') => {
		if (known(now) && known(was) && was > 0)
			out.push([what, show(now), show(was), judge(now, was, isMoreWorse), why]);
	};

	if (!b?.jobs)
		return [];
	const grown = d.findings.filter((f) => known(f.cost_core_s_before) && known(f.cost_core_s)).map((f) => [f.rule, f.cost_core_s - f.cost_core_s_before]).sort((x, y) => Math.abs(y[1]) - Math.abs(x[1])).slice(0, 2);

	line('Lost share of what was held with a profile', t.lost_core_s / t.profiled_core_s, b.lost_core_s / b.profiled_core_s, share, true);
	line('Lost', t.lost_core_s, b.lost_core_s, cores, true, grown.map(([rule, s]) => `${wordsOf(rule)} ${s < 0 ? '\u2212' : '+'}${cores(Math.abs(s))}`).join(', '));
	line('Held', t.held_core_s, b.held_core_s, cores, null, `${count(t.jobs)} jobs, before ${count(b.jobs)}`);
	line('Without a profile', 1 - t.profiled_core_s / t.held_core_s, 1 - b.profiled_core_s / b.held_core_s, share, true);
	line('GPU time without work', t.lost_gpu_s / t.held_gpu_s, b.lost_gpu_s / b.held_gpu_s, share, true);
	line('Energy', t.energy_j, b.energy_j, energy, null, known(t.energy_j) && t.profiled_core_s > 0 && b.profiled_core_s > 0 ? `${energy(3600 * t.energy_j / t.profiled_core_s)} for each core-hour with a profile, before ${energy(3600 * b.energy_j / b.profiled_core_s)}` : '');
	return out;
}

function changed(d) {
	const rows = changes(d);

	return rows.length ? low(section('changed', 'What changed', `against ${timeBefore(d)} before`, el('table', { class: 'g mini' }, el('tbody', {}, rows.map(([what, now, was, verdict, why]) => [
		el('tr', {}, el('th', { scope: 'row', class: 'l' }, what, why ? el('span', { class: 'why' }, why) : ''), el('td', {}, el('b', {}, now), soft(` was ${was}`)), el('td', {}, verdict === 'worse' ? el('b', { class: 'warned' }, verdict) : verdict === 'same' ? soft(verdict) : verdict))]))))) : null;
}

// ---- tables

// A column: its head with the unit, the cell of a row, whether it is known of a row. Texts begin at the left.
const column = (head, unit, cell, has) => ({ head, unit, cell, has });
const words = (head, cell, has, isLong) => ({ head, cell, has, left: true, isLong });

const cut = (c) => [c.left ? 'l' : '', c.isLong ? 'say' : ''].join(' ').trim() || null;

// A table without the columns of which nothing is known.
function part(id, title, note, columns, rows) {
	const some = columns.filter((c) => !c.has || rows.some(c.has));

	return rows.length ? low(section(id, title, note, el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': `Table: ${title}` }, el('table', { class: 'g' },
		el('thead', {}, el('tr', {}, some.map((c) => el('th', { scope: 'col', class: cut(c) }, el('span', { class: 't' }, c.head), el('span', { class: 'u' }, c.unit ?? ''))))),
		el('tbody', {}, rows.map((r) => el('tr', {}, some.map((c, i) => el(i ? 'td' : 'th', { scope: i ? null : 'row', class: cut(c) }, c.cell(r)))))))))) : null;
}

const shareBar = (v) => (known(v) ? [el('span', { class: 'shr', 'data-v': Math.min(1, v) }), share(v)] : '?');
const was = (r) => soft(known(r.lost_share_before) ? share(r.lost_share_before) : 'not known');
const bare = (v, d) => (known(v) ? money(v, { ...d, currency: '' }).trim() : '?');

const accounts = (d) => part('accounts', 'Lost by project', `${first(d, 'accounts')}trend: of what has a profile alone`, [
	words('Project', (r) => to('usage', { project: r.account, by: 'user' }, name(r.account || 'not known', 30))), column('Jobs', '', (r) => count(r.jobs)), column('Held', 'core-h', (r) => hours(r.held_core_s)),
	column('Lost', 'core-h', (r) => el('b', {}, hours(r.lost_core_s))), { ...column('Share', 'of its held', (r) => shareBar(r.lost_share)), left: true }, column('Before', 'of its held', was, (r) => known(r.lost_share_before)),
	column('Trend', 'points', (r) => change(r.trend), (r) => known(r.trend)), column('Energy', 'kWh', (r) => few(r.energy_j / 3.6e6), (r) => known(r.energy_j)), column('Lost', plain(d.currency ?? ''), (r) => bare(r.money_lost, d), (r) => known(r.money_lost)),
	words('Mostly by', (r) => (r.mostly_by ? wordsOf(r.mostly_by) : ''), (r) => r.mostly_by, true)], d.accounts);

const findings = (d) => part('findings', 'Findings by cost', `${first(d, 'findings')}the dearest first`, [
	words('Finding', (r) => [r.severity ? [el('span', { class: `sev ${r.severity}` }, r.severity.toUpperCase()), ' '] : '', to('findings', { finding: r.rule }, wordsOf(r.rule))]), column('Jobs', '', (r) => count(r.jobs)), column('Users', '', (r) => count(r.users)),
	column('Cost', 'core-h', (r) => el('b', {}, hours(r.cost_core_s))), column('Before', 'core-h', (r) => hours(r.cost_core_s_before), (r) => known(r.cost_core_s_before)),
	column('Cost', plain(d.currency ?? ''), (r) => bare(r.cost_money, d), (r) => known(r.cost_money)), words('Dearest job', (r) => [job(r.job), ' ', soft(name(r.user ?? '', 14))], (r) => r.job)], d.findings);

const contacts = (id, title, note, rows) => part(id, title, note, [words('User', (c) => [name(c.user ?? '?', 20), soft(' ', name(c.account ?? '', 14))]), words('Finding', (c) => (c.rule ? wordsOf(c.rule) : 'any'), undefined, true), words('Ticket', (c) => name(c.ticket ?? '', 14), (c) => c.ticket),
	column('Before \u2192 after', 'lost core-h a week', (c) => [hours(c.lost_before_core_s_week), ' \u2192 ', el('b', {}, hours(c.lost_after_core_s_week))]),
	words('Each week', (c) => (c.weeks?.some(known) ? weeks(c.weeks, 6, `lost core-h of each week: ${c.weeks.map(hours).join(', ')}; the contact is behind the sixth`, 70, 14) : ''), (c) => c.weeks?.some(known)),
	words('Verdict', (c) => c.verdict)], rows);

const slower = (d) => part('slower', 'Slower than before', `${first(d, 'slower')}medians of runs that completed; more: what that took`, [words('User', (r) => name(r.user, 20)),
	words('Project', (r) => name(r.account, 20)), words('Job name', (r) => to('jobs', { signature: r.signature }, name(r.name || '?', 30))), column('Runs', '', (r) => count(r.runs)),
	column('Now', '', (r) => time(r.median_s)), column('Before', '', (r) => time(r.median_s_before)), column('Longer', '', (r) => longer(r.longer)),
	column('More', 'core-h', (r) => hours(r.more_core_s))], d.slower);

const slow = (d) => part('nodes', 'Nodes to look at', `${first(d, 'nodes')}slower than others, called slow by findings, or two jobs ended by NODE_FAIL; median of runs against the same applications on all nodes; not known: of fewer than 15`, [
	words('Node', (r) => to('jobs', { node: r.node, ...(r.cluster ? { cluster: r.cluster } : {}) }, name(r.node, 30))), words('Cluster', (r) => name(r.cluster, 20), (r) => r.cluster), column('Runs', '', (r) => count(r.runs)),
	column('Speed', '', (r) => (known(r.speed) ? share(r.speed) : soft('not known'))), column('Longer', 'by', (r) => longer(r.longer)),
	column('NODE_FAIL', 'jobs', (r) => count(r.node_fails)), column('Findings', 'that name it', (r) => count(r.findings))], d.nodes);

// ---- the page

// A time of the page as an option has it, so many seconds later: whole days of a date, else minutes. Dates are of the server's clock, which the browser's may differ from.
export function moved(text, seconds) {
	const [date, clock] = text.split(' '), at = new Date(Date.parse(`${date}T${clock ?? '00:00'}Z`) + 1000 * seconds).toISOString();

	return clock ? at.slice(0, 16) : at.slice(0, 10);
}

// On a server's page: the weeks before and after, and the mail.
function turn(d, from, until) {
	if (!site || !known(d.from))
		return '';
	const end = d.to ?? site.now, days = Math.max(1, Math.floor((end - d.from + 7200) / 86400)), length = from.includes(' ') || until.includes(' ') ? end - d.from : 86400 * days;
	const go = (since, to) => address('digest', { ...site.arguments, since, until: to });

	return el('p', { class: 'st turn' }, el('a', { href: go(moved(from, -length), moved(from, 0)) }, days === 7 ? 'the week before' : 'the time before'), known(d.to) && d.to < site.now ? [' \u00b7 ', el('a', { href: go(moved(until, 0), d.to + length < site.now ? moved(until, length) : null) }, 'after')] : '', ' \u00b7 as a mail: ', el('code', {}, site.command ?? 'jobprof digest'), site.is_static ? '' : [' \u00b7 ', el('a', { href: `${site.root ?? ''}digest.csv${location.search}` }, 'CSV of these tables')]);
}

// from, to: dates in the zone of who made the page.
export function digest({ digest: d, from, to: until, version }) {
	const has = d.total?.jobs > 0, all = d.contacts ?? [], did = all.filter((c) => /^helped/.test(c.verdict)), not = all.filter((c) => /^(no change|worse)$/.test(c.verdict));

	document.title = plain(`Digest from ${from}`);
	document.body.append(el('header', {}, el('h1', {}, `From ${from} to ${until}`), site ? turn(d, from, until) : el('p', { class: 'st' }, 'digest'), el('p', { class: 'about' }, filter(d))),
		el('main', {}, [
			el('p', { class: 'sentence' }, has ? sentence(d) : 'There are no jobs in this time.'),
			has && site ? el('p', { class: 'soft' }, link_('findings', 'All findings'), ', ', link_('usage', 'all projects'), ', ', link_('jobs', 'all jobs'), ' of this time.') : null,
			el('div', { class: 'two letter' }, el('div', {}, [ask(d), findings(d), contacts('helped', 'Advice that helped', 'of contacts of the last 8 weeks', did), contacts('not', 'Did not help yet', '', not)].filter(Boolean)),
				el('div', {}, [accounts(d), changed(d), slow(d), slower(d)].filter(Boolean))),
			d.advice.contacts ? low(section('advice', 'Did earlier mails help?', 'of the last 8 weeks',
				el('p', { class: 'words' }, helped(d.advice), site ? [' ', el('a', { href: address('advice') }, 'All contacts'), '.'] : ''))) : null,
		].filter(Boolean)),
		el('footer', {}, `jobprof ${version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof digest --json')));
	drawParts(document.body);
	return { digest: d };
}
