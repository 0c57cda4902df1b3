// SPDX-License-Identifier: GPL-2.0-or-later
// The page of advice: what to change in jobs that are alike.
import { el, name, soft } from './dom.js';
import { before, cores, count, plural, share } from './format.js';
import { filters, known, link, shell, site } from './site.js';

function change(r) {
	return el('li', { class: r.severity }, el('span', { class: 'sev' }, r.severity.toUpperCase()), el('div', {}, el('b', {}, r.rule), el('span', { class: 'ev' }, name(before(r.text, r.remedy_code), 400)),
		r.remedy_code ? el('span', { class: 'do' }, el('code', {}, r.remedy_code)) : ''),
	el('span', { class: 'cost' }, known(r.cost_core_s) ? el('span', { class: 'big' }, cores(r.cost_core_s)) : '', el('span', { class: 'sub' },
		link('jobs', { ...site.arguments, signature: r.signature, finding: r.rule }, `${count(r.jobs)} of ${plural(r.of, 'job')}`))));
}

function changes(rows) {
	const groups = Map.groupBy ? Map.groupBy(rows, (r) => r.signature) : rows.reduce((m, r) => m.set(r.signature, [...(m.get(r.signature) ?? []), r]), new Map());

	return [...groups.values()].map((g) => el('section', { class: 'low' }, el('div', { class: 'head' }, el('h2', {}, name(g[0].name || g[0].program || '?', 60)), soft('of ', name(g[0].user, 30))),
		el('ol', { class: 'find many' }, g.map(change))));
}

export function advice({ advice: d }) {
	shell('What to change', [el('b', {}, plural(d.rows.length, 'finding')), ' of jobs that are alike, the dearest first',
		d.without_profile > 0 ? `; ${share(d.without_profile)} of what these jobs held has no profile` : ''], filters('30d'), ...(d.rows.length ? changes(d.rows) : [el('p', { class: 'none' }, 'No such job has a finding.')]));
	return { advice: d };
}
