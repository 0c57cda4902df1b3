// SPDX-License-Identifier: GPL-2.0-or-later
// Pages that are files, of `jobprof site build`: nobody answers an address with other arguments. Links to what is not there are no links, and
// the list of jobs applies the filters of its address to the rows that were sent.
import { site } from './site.js';

const UNITS = { h: 3600, d: 86400, w: 7 * 86400, m: 30 * 86400 };
const has = (list, v) => list.toLowerCase().split(',').includes(String(v ?? '').toLowerCase());

// By the names of the options of jobprof jobs: whether a row is what they ask for.
const FILTERS = {
	since: (r, v) => { const m = /^(\d+)([hdwm])$/.exec(v); return !m || r.start >= site.now - m[1] * UNITS[m[2]]; },
	user: (r, v) => has(v, r.user), project: (r, v) => has(v, r.account), partition: (r, v) => has(v, r.partition), state: (r, v) => has(v, r.state), signature: (r, v) => has(v, r.signature),
	name: (r, v) => (v.startsWith('=') ? (r.name ?? '') === v.slice(1) : (r.name ?? '').includes(v)),
	jobs: (r, v) => has(v, r.job_id) || has(v, r.array_id) || has(v, `${r.array_id}_${r.array_task}`),
	finding: (r, v) => (v === 'none' || v === 'any' ? (v === 'any') === r.findings > 0 : v === 'unknown' ? r.worst_rule === 'no profile' : r.worst_rule === v),
};
const SHOWN = ['sort', 'all', 'limit']; // change no row

// Whether a page that is there shows what a link asks for.
function isThere(url, before) {
	const base = new URL(site.root || './', location.href).pathname;
	const [, page] = (url.origin === location.origin && url.pathname.startsWith(base) && /^(\w+)(?:\/[\w+.-]+)?\.html$/.exec(url.pathname.slice(base.length))) || [];
	const asked = [...url.searchParams].filter(([k, v]) => before[k] !== v && !SHOWN.includes(k));

	return page === 'index' || (site.files.includes(page) && asked.every(([k, v]) => page === 'jobs' && FILTERS[k] && (k !== 'since' || /^\d+[hdw]$/.test(v))));
}

function check(node, before) {
	for (const a of node.querySelectorAll('a[href]')) {
		const href = a.getAttribute('href');

		if (!href.startsWith('#') && !href.startsWith('http') && !isThere(new URL(href, location.href), before))
			a.removeAttribute('href');
	}
	if (site.page !== 'jobs')
		node.querySelectorAll('form').forEach((f) => f.remove());
}

// What is drawn now and later, such as rows that come into view.
export function withoutServer() {
	const before = { ...site.arguments };

	new MutationObserver((changes) => changes.forEach((c) => c.addedNodes.forEach((n) => n instanceof Element && n.parentNode && check(n.parentNode, before))))
		.observe(document.body, { childList: true, subtree: true });
}

// What jobs --json printed, of the jobs alone that the address asks for.
export function sent(d) {
	const asked = [...new URLSearchParams(location.search)].filter(([k, v]) => v && FILTERS[k]), sum = (rows, key) => rows.reduce((s, r) => s + (r[key] ?? 0), 0);

	if (!asked.length)
		return d;
	const rows = d.rows.filter((r) => asked.every(([k, v]) => FILTERS[k](r, v)));

	Object.assign(site.arguments, Object.fromEntries(asked));
	return { ...d, rows, matching: rows.length, held_core_s: sum(rows, 'held_core_s'), lost_core_s: sum(rows, 'lost_core_s'),
		without_profile_core_s: sum(rows.filter((r) => r.worst_rule === 'no profile'), 'held_core_s') };
}
