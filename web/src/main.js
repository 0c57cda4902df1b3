// SPDX-License-Identifier: GPL-2.0-or-later
// One template for all pages: what the JSON in it has says which page it is.
import { advice } from './advice.js';
import { bursts } from './clusters.js';
import { compare } from './compare.js';
import { digest } from './digest.js';
import { el } from './dom.js';
import { sent, withoutServer } from './files.js';
import { find } from './find.js';
import { flame } from './flame.js';
import { folded } from './fold.js';
import { apps, home } from './home.js';
import { io } from './io.js';
import { way, withoutProfile } from './jobpage.js';
import { jobs } from './jobs.js';
import { node, whichNode } from './node.js';
import { plot } from './plot.js';
import { refused } from './refused.js';
import { report } from './report.js';
import { unpacked } from './rows.js';
import { running } from './running.js';
import { nav, site, wrong } from './site.js';
import { contacts, findings, issues } from './sitefindings.js';
import { nodes } from './system.js';
import { usage } from './usage.js';

const OF_SITE = { apps, digest, find, findings, home, io, issues, jobs, node, nodes, running, usage };
const pageOfSite = (data) => (site?.page === 'advice' ? ('contacts' in (data.advice ?? {}) ? contacts : advice) : OF_SITE[site?.page]);
const text = document.getElementById('data').textContent;

function draw() {
	const data = unpacked(JSON.parse(text));

	const page = site?.error ? (site.page === 'node' ? whichNode : wrong) : data.refused ? refused : data.no_profile ? withoutProfile : pageOfSite(data) ?? (data.digest ? digest : data.terms ? compare : data.curves ? plot : data.flame ? flame : data.plane ? bursts : 'folded' in data ? folded : report);

	if (site?.is_static) {
		withoutServer();
		data.jobs &&= site.page === 'jobs' ? sent(data.jobs) : data.jobs;
	}
	if (site)
		document.body.prepend(nav(), way());
	window.jobprof = page(data);
}

if (!text.trim().startsWith('{')) {
	document.body.append(el('p', {}, 'This is the template of jobprof\u2019s pages, without numbers.'));
} else {
	try {
		draw();
	} catch (e) { // the page in a job's file is its owner's
		document.body.append(el('main', {}, el('p', { class: 'words' }, 'This page cannot be drawn: what it is made of does not fit together. In a terminal jobprof report and jobprof seff print what is known of a job.')));
		throw e;
	}
}
