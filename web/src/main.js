// SPDX-License-Identifier: GPL-2.0-or-later
// One template for all pages: what the JSON in it has says which page it is.
import { advice } from './advice.js';
import { bursts } from './clusters.js';
import { compare } from './compare.js';
import { digest } from './digest.js';
import { el } from './dom.js';
import { find } from './find.js';
import { flame } from './flame.js';
import { folded } from './fold.js';
import { jobs } from './jobs.js';
import { node } from './node.js';
import { plot } from './plot.js';
import { report } from './report.js';
import { nav, site, wrong } from './site.js';
import { nodes } from './system.js';
import { issues, usage } from './usage.js';

const OF_SITE = { find, node, nodes };
const text = document.getElementById('data').textContent;

if (!text.trim().startsWith('{')) {
	document.body.append(el('p', {}, 'This is the template of jobprof\u2019s pages, without numbers.'));
} else {
	const data = JSON.parse(text);

	const page = site?.error ? wrong : OF_SITE[site?.page] ?? (data.jobs ? jobs : data.usage ? usage : data.issues ? issues : data.advice ? advice : data.digest ? digest : data.terms ? compare : data.curves ? plot : data.flame ? flame : data.plane ? bursts : 'folded' in data ? folded : report);

	if (site)
		document.body.prepend(nav());
	window.jobprof = page(data);
}
