// SPDX-License-Identifier: GPL-2.0-or-later
// Why there is no page: it is another's or not there, which the server does not tell apart; no such page; an address without sense.
import { el, name } from './dom.js';
import { plain } from './format.js';
import { coordinated, seesThat } from './sees.js';
import { link, site } from './site.js';

const asked = () => el('code', {}, plain(`${location.pathname}${location.search}`.slice(0, 300)));
const p = (...children) => el('p', { class: 'words' }, ...children);

// Who sees all jobs is told what others are not.
const notThere = () => [p(asked(), ' is none of the jobs that the index knows. A job is there a minute after its end; ', el('code', {}, 'jobprof index scan DIR'), ' reads profiles of before.')];
const notYours = () => [p(seesThat(site)), p(asked(), ' is of somebody else, or does not exist: the answer is the same for both.'),
	el('h2', {}, 'If you should see it'), el('ul', { class: 'words' }, el('li', {}, 'its owner can send you its page as a file: ', el('code', {}, 'jobprof report --html FILE -j JOB')),
		el('li', {}, 'a coordinator of its project sees it: ', el('code', {}, 'sacctmgr add coordinator account=PROJECT names=USER'), ', known here within an hour'),
		el('li', {}, 'the support staff of this site sees all jobs'))];

const forStaff = () => [p(asked(), ' is about jobs of all: it is for the support staff of this site. ', seesThat(site))];

const PAGES = {
	403: ['Not yours to see', notYours],
	404: ['There is no such page', (what) => [p(asked(), what ? `: ${what}.` : ' is none of the pages here.')]],
	400: ['This address makes no sense', (what) => [p(asked(), what ? `: ${what}.` : '.')]],
	500: ['This failed, or took too long', () => [p(asked(), ' could not be answered. A shorter time or a narrower filter is faster; the log of the server says what happened.')]],
};

// A node has jobs at some times only.
const idle = [['7d', '7 days'], ['30d', '30 days']];
const noJob = () => [p('No job that you may see was on ', el('b', {}, name(site.arguments.node, 60)), ' in this time: ', idle.map(([since, t], i) => [i ? ', ' : '', link('node', { ...site.arguments, since, until: null }, t)]), '.')];

export function refused({ refused: d }) {
	const [title, words] = d.status === 404 && /\/compare$/.test(location.pathname) ? ['These cannot be compared', PAGES[404][1]] : d.status === 403 && site.arguments?.node && /\/node$/.test(location.pathname) ? ['No job here', noJob] : d.status === 403 && /\/nodes$/.test(location.pathname) ? ['For staff', forStaff] : d.status === 403 && site.sees_all ? ['There is no such job', notThere] : PAGES[d.status] ?? PAGES[500];

	document.title = plain(`${title} \u00b7 jobprof`);
	document.body.append(el('header', {}, el('div', {}, el('h1', {}, title), el('p', { class: 'about' }, `status ${d.status}`))),
		el('main', { class: 'refused' }, words(d.what), el('p', { class: 'words' }, link('jobs', {}, site.sees_all ? 'Jobs' : 'My jobs'),
			coordinated(site).map((a) => [' \u00b7 ', link('jobs', { project: a }, 'jobs of ', a)]))),
		el('footer', {}, `jobprof ${site.version}`));
	return { refused: d };
}
