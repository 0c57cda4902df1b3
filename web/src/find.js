// SPDX-License-Identifier: GPL-2.0-or-later
// What the search box found: what is the only one of its name opens at once, else there are links.
import { el, name, section, soft } from './dom.js';
import { plural } from './format.js';
import { address, shell, site } from './site.js';

const PAGES = {
	job: (r) => (r.has_profile ? address(`job/${encodeURIComponent(r.name)}`) : address('jobs', { jobs: r.name })),
	running: (r) => address('running', { jobs: r.name }),
	user: (r) => address('usage', { by: 'name', user: r.name }),
	project: (r) => address('usage', { by: 'user', project: r.name }),
	node: (r) => address('node', { node: r.name }),
	name: (r) => address('jobs', { name: `=${r.name}`, since: '30d' }),
};
const WORDS = { job: 'Jobs', running: 'Running and waiting jobs', user: 'Users', project: 'Projects', node: 'Nodes', name: 'Names of jobs' };

export const pageOf = (r) => PAGES[r.what](r);

// Where the answer leads without a choice: the only thing that is called so.
export function onlyOne(d) {
	const exact = d.rows.filter((r) => r.name === d.word);

	return exact.length === 1 && d.rows.length === 1 ? pageOf(exact[0]) : null;
}

function kind(what, rows) {
	return rows.length ? section(what, WORDS[what], soft(plural(rows.length, what === 'running' ? 'job' : what)), el('ul', { class: 'found' }, rows.map((r) => el('li', {}, el('a', { href: pageOf(r) }, name(r.name, 80)), ' ', soft(el('code', {}, name(r.see, 120))))))) : null;
}

export function find({ find: d }) {
	const to = onlyOne(d), contains = address('jobs', { name: d.word, since: '30d' });

	if (to)
		location.replace(to);
	shell('Search', d.rows.length ? [el('b', {}, name(d.word, 60)), d.rows[0].name === d.word ? ' is more than one thing' : ' is not the name of anything; these begin with it'] : ['Nothing that you may see is called ', el('b', {}, name(d.word, 60)), ', or begins with that'],
		...Object.keys(PAGES).map((what) => kind(what, d.rows.filter((r) => r.what === what))),
		el('p', { class: 'words' }, 'Jobs of the last 30 days ', el('a', { href: contains }, 'with this in their name'), '; ', el('a', { href: address('jobs', { since: 'all', program: d.word }) }, 'with this in the path of their program'), site.sees_all ? '.' : '. What belongs to others is not found.'));
	return { find: d };
}
