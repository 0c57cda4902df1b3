// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof digest --html`: what the jobs of a week held and lost, and whom to write to first.
import { el, grid, name, section } from './dom.js';
import { cores, count, energy, plain, plural, share } from './format.js';

const date = (s) => (s ? new Date(s * 1000).toISOString().slice(0, 10) : 'now');
const lost = (row) => (row.lost_core_s === null ? '?' : cores(row.lost_core_s));

function sentence(d) {
	const t = d.total, b = d.before?.lost_core_s;

	return [el('b', {}, `${plural(t.jobs, 'job')} held ${cores(t.held_core_s)} and lost ${lost(t)}`), t.lost_core_s === null ? '' : ` (${share(t.lost_core_s / t.held_core_s)})`,
		b ? `; in as long a time before they lost ${cores(b)}` : '', '. ',
		t.held_core_s > t.profiled_core_s ? `${share(1 - t.profiled_core_s / t.held_core_s)} of what was held has no profile, and is not in what was lost. ` : '',
		t.energy_j ? `Energy: ${energy(t.energy_j)}.` : ''];
}

export function digest({ digest: d, version }) {
	const has = d.total?.jobs > 0, part = (id, title, note, head, rows) => (rows.length ? section(id, title, note, grid(head, rows, 'tm', title)) : null);

	document.title = plain(`Digest from ${date(d.from)}`);
	document.body.append(el('header', {}, el('h1', {}, `From ${date(d.from)} to ${date(d.to)}`), el('p', { class: 'about' }, has ? sentence(d) : 'There are no jobs in this time.')),
		el('main', {}, [
			part('ask', 'Whom to write to first', 'nobody did in the last 90 days', ['user', 'project', 'finding', 'job name', 'jobs', 'cost', 'such as'],
				d.ask.map((r) => [name(r.user, 20), name(r.account, 20), r.rule, name(r.name ?? '', 30), count(r.jobs), cores(r.cost_core_s), String(r.job_id)])),
			part('accounts', 'Lost by project', 'the most first', ['project', 'jobs', 'held', 'lost', 'of what it held'],
				d.accounts.map((r) => [name(r.account || 'not known', 40), count(r.jobs), cores(r.held_core_s), lost(r), r.lost_share === null ? '?' : share(r.lost_share)])),
			part('findings', 'Findings', 'the dearest first', ['finding', 'jobs', 'users', 'cost'],
				d.findings.map((r) => [r.rule, count(r.jobs), count(r.users), r.cost_core_s === null ? '?' : cores(r.cost_core_s)])),
			d.advice.contacts ? section('advice', 'Did earlier mails help?', 'of the last 8 weeks',
				el('p', { class: 'words' }, `${d.advice.helped} of ${plural(d.advice.contacts, 'contact')} helped: ${cores(d.advice.saved_core_s_week)} a week.`)) : null,
		].filter(Boolean)),
		el('footer', {}, `jobprof ${version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof digest --json')));
	return { digest: d };
}
