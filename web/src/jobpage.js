// SPDX-License-Identifier: GPL-2.0-or-later
// What a server adds to the pages of jobs: the way back to the list with its filters, the other jobs of a comparison, and a page of its own where
// no profile can be read.
import { el, name } from './dom.js';
import { plain } from './format.js';
import { address, link, site } from './site.js';

const LISTLESS = ['job', 'compare', 'refused'];
const KEY = 'jobprof list';

// A tab remembers the list that was seen last in it. Without storage there is the list of all.
function stored(value) {
	try {
		if (value)
			sessionStorage.setItem(KEY, value);
		return sessionStorage.getItem(KEY) ?? '';
	} catch {
		return '';
	}
}

// Only a page of this server: what is stored becomes a link.
function last() {
	const list = stored(), here = new URL(site.root || './', location.href);

	return list.startsWith(here.href) ? list : address('jobs');
}

function others() {
	const [first, second, ...rest] = (site.arguments.jobs ?? '').split(',');

	return rest.length ? el('span', {}, ' \u00b7 compare ', name(first, 30), ' with ', el('b', {}, name(second, 30)),
		rest.map((id, i) => [', ', link('compare', { jobs: [first, id, second, ...rest.filter((_, k) => k !== i)].join(',') }, name(id, 30))])) : '';
}

// Above the pages of jobs; on the others it remembers where the reader is.
export function way() {
	if (!LISTLESS.includes(site.page))
		stored(location.href);
	if (site.page !== 'job' && site.page !== 'compare')
		return '';
	return el('nav', { class: 'way', 'aria-label': 'Way back' }, el('a', { href: last() }, '\u2190 back to the list'), site.page === 'compare' ? others() : '');
}

// A job of which no profile can be read: what the index has.
export function withoutProfile({ no_profile: d }) {
	const r = d.jobs?.rows?.[0], same = r && [r.name && ['jobs', { name: `=${r.name}`, user: r.user, since: 'all' }, 'runs of the same name'], r.signature && ['jobs', { signature: r.signature, since: 'all' }, 'runs like it'],
		r.user && ['jobs', { user: r.user, since: '30d' }, 'jobs of ', r.user]].filter(Boolean);

	document.title = plain(`${d.job} \u00b7 jobprof`);
	document.body.append(el('header', {}, el('div', {}, el('h1', {}, 'Job ', name(d.job, 40)), el('p', { class: 'about' }, 'No profile of this job can be read here: this is what Slurm\u2019s accounting and the index know.'))),
		el('main', {}, el('pre', { class: 'lines', tabindex: 0, role: 'region', 'aria-label': 'What is known of the job' }, d.text ? d.text.trimEnd().split('\n').map((line) => [line, el('br')]) : 'not known'),
			same?.length ? el('p', { class: 'words' }, same.map(([page, args, ...words], i) => [i ? ' \u00b7 ' : '', link(page, args, ...words)])) : null),
		el('footer', {}, 'The same in a terminal: ', el('code', {}, site.command ?? 'jobprof seff JOB'), ` \u00b7 jobprof ${site.version}`));
	return { lines: d };
}
