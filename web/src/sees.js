// SPDX-License-Identifier: GPL-2.0-or-later
// Whose jobs the reader of a page sees, as the server says: all, own ones, or also those of projects that Slurm says the reader coordinates.
import { el, name } from './dom.js';

export const coordinated = (site) => (Array.isArray(site.sees) ? site.sees : []);

const SOME = 3; // projects that are named in the head of a page

// Behind the reader's name.
export function sees(site) {
	const projects = coordinated(site), more = projects.length - SOME;

	if (site.sees_all)
		return ' sees all jobs';
	return projects.length ? [` sees own jobs, and those of project${projects.length > 1 ? 's' : ''} `, projects.slice(0, SOME).map((p, i) => [i ? ', ' : '', name(p, 20)]), more > 0 ? ` and ${more} more` : ''] : ' sees own jobs';
}

// As a sentence.
export function seesThat(site) {
	const projects = coordinated(site);

	return [el('b', {}, 'You are ', name(site.user, 40), '.'), site.sees_all ? ' You see all jobs of this site.' : ' You see your own jobs',
		projects.length ? [`, and those of project${projects.length > 1 ? 's' : ''} `, projects.map((p, i) => [i ? ', ' : '', name(p, 40)]), ', as Slurm says that you coordinate ', projects.length > 1 ? 'these' : 'it'] : '', site.sees_all ? '' : '.'];
}
