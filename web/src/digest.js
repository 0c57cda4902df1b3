// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof digest --html`: what the jobs of a week held and lost, and whom to write to first.
import { el, grid, low, name, section, soft } from './dom.js';
import { cores, count, energy, number, plain, plural, share, time } from './format.js';

const known = (v) => v !== null && v !== undefined;
const lost = (row) => (known(row.lost_core_s) ? cores(row.lost_core_s) : '?');
const money = (v, d) => (known(v) ? `${v < 100 ? number(v) : count(v)} ${plain(d.currency ?? '')}` : '?');

// Points of percent above the time before; worse and better are words, too.
function change(points) {
	if (!known(points))
		return soft('not known');
	const p = 100 * points;

	if (Math.abs(p) < 0.05)
		return soft('same');
	return `${p > 0 ? '+' : '\u2212'}${Math.abs(p).toFixed(Math.abs(p) < 9.95 ? 1 : 0)} points`;
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

function sentence(d) {
	const t = d.total, b = d.before;

	return [el('b', {}, `${plural(t.jobs, 'job')} held ${cores(t.held_core_s)} and lost ${lost(t)}`), known(t.lost_share) ? ` (${share(t.lost_share)})` : '',
		known(t.money_lost) ? [': ', el('b', {}, money(t.money_lost, d)), ` of ${money(t.money_held, d)}`] : '',
		known(b?.lost_core_s) ? `. In as long a time before they lost ${cores(b.lost_core_s)} (${share(b.lost_share)})` : '', '. ',
		t.held_core_s > t.profiled_core_s ? `${share(1 - t.profiled_core_s / t.held_core_s)} of what was held has no profile, and is not in what was lost. ` : '',
		t.energy_j ? [`Energy: ${energy(t.energy_j)}`, t.energy_money ? `, ${money(t.energy_money, d)}` : '', t.co2_kg ? `, ${number(t.co2_kg)} kg of CO\u2082` : '',
			b?.energy_j ? `; before ${energy(b.energy_j)}` : '', '.'] : ''].flat();
}

// A column: its head, the cell of a row, whether it is known of a row. Texts begin at the left.
const column = (head, cell, has) => ({ head: () => head, cell, has });
const words = (head, cell, has) => ({ head: () => el('th', { scope: 'col', class: 'say' }, head), cell: (r) => el('td', { class: 'say' }, cell(r)), has });

// A table without the columns of which nothing is known.
function part(id, title, note, columns, rows) {
	const some = columns.filter((c) => !c.has || rows.some(c.has));

	return rows.length ? low(section(id, title, note, grid(some.map((c) => c.head()), rows.map((r) => some.map((c) => c.cell(r))), 'tm', title))) : null;
}

// from, to: dates in the zone of who made the page.
export function digest({ digest: d, from, to, version }) {
	const has = d.total?.jobs > 0;

	document.title = plain(`Digest from ${from}`);
	document.body.append(el('header', {}, el('h1', {}, `From ${from} to ${to}`), el('p', { class: 'st' }, 'digest'),
		el('p', { class: 'about' }, filter(d), has ? sentence(d) : 'There are no jobs in this time.')),
		el('main', {}, [
			part('ask', 'Whom to write to first', `${first(d, 'ask')}nobody did in the last 90 days`, [column('user', (r) => name(r.user, 20)), words('project', (r) => name(r.account, 20)),
				words('finding', (r) => r.rule), words('job name', (r) => name(r.name ?? '', 30)), column('jobs', (r) => count(r.jobs)),
				column('cost', (r) => cores(r.cost_core_s)), column('such as', (r) => String(r.job_id))], d.ask),
			part('accounts', 'Lost by project', `${first(d, 'accounts')}of its held: of all; trend: of what has a profile alone, against as long a time before`, [
				column('project', (r) => name(r.account || 'not known', 40)), column('jobs', (r) => count(r.jobs)), column('held', (r) => cores(r.held_core_s)), column('lost', lost),
				column('of its held', (r) => share(r.lost_share)), column('trend', (r) => change(r.trend), (r) => known(r.trend)),
				column('energy', (r) => energy(r.energy_j), (r) => known(r.energy_j)), column('lost money', (r) => money(r.money_lost, d), (r) => known(r.money_lost)),
				words('mostly by', (r) => r.mostly_by ?? '', (r) => r.mostly_by)], d.accounts),
			part('findings', 'Findings', `${first(d, 'findings')}the dearest first`, [column('finding', (r) => r.rule), column('jobs', (r) => count(r.jobs)), column('users', (r) => count(r.users)),
				column('cost', (r) => cores(r.cost_core_s)), column('before', (r) => cores(r.cost_core_s_before), (r) => known(r.cost_core_s_before)),
				column('cost in money', (r) => money(r.cost_money, d), (r) => known(r.cost_money))], d.findings),
			part('slower', 'Slower than before', `${first(d, 'slower')}medians of runs that completed, against as long a time before; more: what that took`, [column('user', (r) => name(r.user, 20)),
				words('project', (r) => name(r.account, 20)), words('job name', (r) => name(r.name ?? '', 30)), column('runs', (r) => count(r.runs)),
				column('now', (r) => time(r.median_s)), column('before', (r) => time(r.median_s_before)), column('longer', (r) => longer(r.longer)),
				column('more', (r) => (known(r.more_core_s) ? cores(r.more_core_s) : '?'))], d.slower),
			part('nodes', 'Nodes to look at', `${first(d, 'nodes')}slower than others, called slow by findings, or two jobs ended by NODE_FAIL; median of runs against the same applications on all nodes; not known: of fewer than 15`, [
				column('node', (r) => name(r.node, 30)), words('cluster', (r) => name(r.cluster, 20), (r) => r.cluster), column('runs', (r) => count(r.runs)),
				column('speed', (r) => (known(r.speed) ? share(r.speed) : soft('not known'))), column('runs take longer by', (r) => longer(r.longer)),
				column('jobs ended by NODE_FAIL', (r) => count(r.node_fails)), column('findings that name it', (r) => count(r.findings))], d.nodes),
			d.advice.contacts ? low(section('advice', 'Did earlier mails help?', 'of the last 8 weeks',
				el('p', { class: 'words' }, helped(d.advice)))) : null,
		].filter(Boolean)),
		el('footer', {}, `jobprof ${version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof digest --json')));
	return { digest: d };
}
