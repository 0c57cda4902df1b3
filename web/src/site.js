// SPDX-License-Identifier: GPL-2.0-or-later
// What the pages of a server share: the head with its links, the line of filters, tables whose rows lead on. What chooses rows is in
// the address, by the names of the verbs' options; following a link asks the server again.
import { el, name, section, soft } from './dom.js';
import { count, day, plain, share } from './format.js';
import { sees } from './sees.js';

const text = globalThis.document?.getElementById('site')?.textContent ?? '';

export const site = text.trim().startsWith('{') ? JSON.parse(text) : null;

const PAGES = [['jobs', 'Jobs'], ['usage', 'Usage'], ['findings', 'Findings'], ['io', 'I/O'], ['nodes', 'System'], ['running', 'Live'], ['digest', 'Digest']];

// Pages that are tabs of another one.
const WITHIN = { advice: 'findings', issues: 'findings' };

export const known = (v) => v !== null && v !== undefined;

// An address of a page with these arguments, those that are empty are left out; '': the first page. It is relative, so that pages work below any
// folder of a web server, and as files.
export function address(page, args = {}) {
	const query = new URLSearchParams(Object.entries(args).filter(([, v]) => known(v) && v !== ''));
	const file = site.is_static ? `${page || 'index'}.html` : page;

	return `${site.root}${file}${query.size ? `?${query}` : ''}` || './';
}

export const link = (page, args, ...children) => el('a', { href: address(page, args) }, ...children);

// What is searched the server knows: a job, a user, a project, a node or a name of jobs.
function search() {
	const box = el('input', { type: 'search', name: site.is_static ? 'name' : 'word', required: true, 'aria-label': 'Search a job, user, project, node or name', placeholder: 'job, user, project, node or name', value: site.arguments?.word ?? null, autocomplete: 'off', maxlength: 500 });

	document.addEventListener('keydown', (e) => {
		if (e.key === '/' && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) {
			e.preventDefault();
			box.select();
		}
	});
	return el('form', { role: 'search', action: address(site.is_static ? 'jobs' : 'find') }, box);
}

// The links to the other pages, above any page of a server.
export function nav() {
	return el('div', { class: 'site', role: 'region', 'aria-label': 'Site' }, el('nav', { 'aria-label': 'Pages' }, PAGES.map(([p, t]) => el('a', { href: address(p), 'aria-current': p === (WITHIN[site.page] ?? site.page) ? 'page' : null }, t))),
		search(), el('span', { class: 'who' }, el('b', {}, name(site.user, 30)), sees(site)));
}

// ---- filters

const RANGES = [['24h', '24 hours'], ['7d', '7 days'], ['30d', '30 days'], ['all', 'all']];
const FIELDS = [['user', 'user'], ['project', 'project'], ['name', 'name'], ['state', 'state'], ['partition', 'part.'], ['finding', 'finding'], ['nodes', 'nodes'], ['ran', 'ran'],
	['node', 'on node'], ['jobs', 'id']];

// A form whose fields are arguments of this page; since: the time where the address has none.
export function filters(since, rest = {}) {
	const a = site.arguments;

	return el('form', { class: 'filters', onsubmit: (e) => {
		e.preventDefault();
		const args = { ...a };

		for (const input of e.target.querySelectorAll('input'))
			args[input.name] = input.value.trim();
		location.href = address(site.page, args);
	} }, el('span', { class: 'choice' }, RANGES.map(([w, t]) => el('a', { href: address(site.page, { ...a, since: w }), 'aria-current': (a.since ?? since) === w ? 'true' : null }, t))),
	FIELDS.filter(([f]) => !(f in rest)).map(([f, t]) => el('label', {}, t, el('input', { name: f, value: a[f] ?? '', placeholder: 'any', class: a[f] ? 'set' : null, autocomplete: 'off' }))),
	el('button', { type: 'submit', class: 'sr' }, 'filter'));
}

// ---- cells

const bar = (v) => el('i', { class: 'v', 'data-v': v });

export const cells = {
	text: (v) => (known(v) && v !== '' ? name(v, 40) : soft('?')),
	count: (v) => (known(v) ? count(v) : '?'),
	// Core-hours, of which the head says the unit.
	hours: (v) => (known(v) ? few(v / 3600) : '?'),
	number: (v) => (known(v) ? few(v) : '?'),
	duration: (v) => (known(v) ? hm(v) : '?'),
	when: (v) => (known(v) ? day(v).slice(5) : '?'),
	part: (v) => (known(v) ? [share(v).replace(' %', ''), bar(Math.min(1, Math.max(0, v)))] : '?'),
	rate: (v) => (known(v) ? few(v / 1e6) : '?'),
};

// As the verbs write numbers: whole from 100 on, else three digits.
export function few(v) {
	const a = Math.abs(v);

	return a >= 99.95 ? count(Math.round(v)) : a === 0 ? '0' : a >= 9.995 ? v.toFixed(1) : a >= 0.0995 ? v.toFixed(2) : a < 0.0005 ? '<0.001' : v.toFixed(3);
}

export function hm(s) {
	const minutes = Math.round(s / 60), h = Math.floor(minutes / 60), two = (n) => String(n).padStart(2, '0');

	return s < 60 ? `${Math.round(s)} s` : h >= 24 ? `${Math.floor(h / 24)}-${two(h % 24)}:${two(minutes % 60)}` : `${h}:${two(minutes % 60)}`;
}

// ---- tables

// A column: key of a row, head, unit, kind of cells or a function of the row, what it means; left: text; wide: not on a phone. sort: it sorts by this.
export function table(label, columns, rows, options = {}) {
	const some = columns.filter((c) => !c.rare || rows.some((r) => known(r[c.key]) && r[c.key] !== ''));
	const cell = (c, r) => (typeof c.kind === 'function' ? c.kind(r) : cells[c.kind](r[c.key]));
	const by = (site.arguments.sort ?? options.sort ?? '').replace(/^-/, '');
	const head = (c) => [el('span', { class: 't' }, c.head), el('span', { class: 'u' }, c.unit ?? '')];

	const t = el('table', { class: 'g', 'aria-label': label }, el('thead', {}, el('tr', {}, some.map((c) => el('th', { scope: 'col', 'data-key': c.key, class: [c.left ? 'l' : '', c.wide ? 'wd' : ''].join(' ').trim() || null, title: c.about, 'aria-sort': by === c.key ? 'descending' : null },
		c.fixed ? head(c) : el('a', { href: address(site.page, { ...site.arguments, sort: c.key }) }, head(c)))))),
	el('tbody', {}, rows.map((r) => el('tr', {}, some.map((c, i) => el(i ? 'td' : 'th', { scope: i ? null : 'row', class: [c.left ? 'l' : '', c.kind === 'part' ? 'vb' : '', c.cut ? 'cut' : '', c.wide ? 'wd' : ''].join(' ').trim() || null }, cell(c, r)))))),
	options.sum ? el('tfoot', {}, el('tr', {}, some.map((c, i) => el('td', { class: [c.left ? 'l' : '', c.wide ? 'wd' : ''].join(' ').trim() || null }, i ? (known(options.sum[c.key]) && !c.left ? cell(c, options.sum) : '') : 'all')))) : '');

	drawParts(t);
	if (options.keys !== false)
		rowKeys(t);
	return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': label }, t);
}

// The policy of the pages has no style in markup.
export function drawParts(e) {
	for (const v of e.querySelectorAll('[data-v]'))
		v.style.setProperty('--v', `${100 * Number(v.dataset.v)}%`);
}

// j and k choose a row, Enter follows its first link.
function rowKeys(t) {
	let at = -1;

	document.addEventListener('keydown', (e) => {
		const step = e.key === 'j' ? 1 : e.key === 'k' ? -1 : 0, rows = t.tBodies[0].rows;

		if (e.altKey || e.ctrlKey || e.metaKey || /INPUT|SELECT|TEXTAREA/.test(e.target.tagName) || !rows.length)
			return;
		if (step) {
			rows[at]?.classList.remove('on');
			at = Math.min(rows.length - 1, Math.max(0, at + step));
			rows[at].classList.add('on');
			rows[at].scrollIntoView({ block: 'nearest' });
			e.preventDefault();
		} else if (e.key === 'Enter' && at >= 0 && !/^(A|BUTTON|SUMMARY)$/.test(e.target.tagName)) {
			rows[at].querySelector('a')?.click();
		}
	});
}

// What the columns mean, for those who have no pointer to hold over a head.
export const means = (columns) => el('details', { class: 'low' }, el('summary', {}, 'What the columns mean'),
	el('dl', { class: 'dl' }, columns.filter((c) => c.about).map((c) => [el('dt', {}, c.head, c.unit ? `, ${c.unit}` : ''), el('dd', {}, c.about)])));

// ---- the whole of a page

export function shell(title, about, ...parts) {
	const csv = `${site.root}${site.page}.csv${location.search}`;

	document.title = plain(`${title} \u00b7 jobprof`);
	document.body.append(el('header', {}, el('div', {}, el('h1', {}, title), el('p', { class: 'about' }, about)),
		el('p', { class: 'keys' }, el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' row ', el('kbd', {}, '\u21b5'), ' open ', el('kbd', {}, '/'), ' search ', el('br'), el('a', { href: csv }, 'CSV of this table'))),
	el('main', {}, parts.filter(Boolean)),
	el('footer', {}, 'The same in a terminal: ', el('code', {}, site.command ?? 'jobprof'), ` \u00b7 jobprof ${site.version}`));
}

export function wrong() {
	shell('These arguments make no sense', 'The address has a filter that the server cannot read. ', filters('7d'),
		section('wrong', 'What can be asked', '', el('p', { class: 'words' }, 'Times are 24h, 7d, 2026-11-01; nodes 4, 4-16 or 8-; ran 1h- or 10m-2h; states completed, failed, timeout; findings a rule, any, none or unknown.')));
}
