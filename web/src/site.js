// SPDX-License-Identifier: GPL-2.0-or-later
// What the pages of a server share. Of this file other pages use:
//	site, known, address(page, args), link(page, args, ...)	what the server says; addresses, whose arguments are options of the verbs
//	shell(title, about, ...parts)	head, main and foot of a page: every page calls it once
//	filters(since, without, narrow)	the line of filters; narrow(args): true where the page itself shows these rows
//	table(label, columns, rows, options)	a table that the server sorts; rows.js has one for many rows, sorted in the page
//	cells, few, hm, money, kwh	numbers as the verbs print them, with what is not known as "?"
//	means(columns), below(what, args), others(list)	below tables: what columns mean, the command and the CSV of tables
//	copy(text), severity(word), drawParts(e)	lines to copy; bars of data-v
// Classes: g table, l left, vb bar in a cell, tw and sumbar where the time went, p1 p1r p2 p3 places on a telephone, low section,
// top two columns, find list of findings, choice links of which one is chosen, keyed what a telephone has no keys for.
import { el, name, section, soft } from './dom.js';
import { count, day, plain, share, spoken } from './format.js';
import { coordinated, sees } from './sees.js';

const text = globalThis.document?.getElementById('site')?.textContent ?? '';

export const site = text.trim().startsWith('{') ? JSON.parse(text) : null;

// Page, title, for whom: all, staff, or leaders: staff and those who coordinate a project. One row each.
const PAGES = [
	['home', 'My jobs', 'all'],
	['jobs', 'Jobs', 'all'],
	['usage', 'Usage', 'all'],
	['findings', 'Findings', 'all'],
	['io', 'I/O', 'leaders'],
	['nodes', 'System', 'staff'],
	['running', 'Live', 'all'],
	['digest', 'Digest', 'leaders'],
];

// Pages that are tabs of another one.
const WITHIN = { advice: 'findings', issues: 'findings' };

export const known = (v) => v !== null && v !== undefined;

// An address of a page with these arguments, those that are empty are left out; '': the first page. It is relative, so that pages work below any
// folder of a web server, and as files.
export function address(page, args = {}) {
	const query = new URLSearchParams(Object.entries(args).filter(([, v]) => known(v) && v !== ''));
	const file = site?.is_static ? `${page || 'index'}.html` : page;

	return `${site?.root ?? ''}${file}${query.size ? `?${query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}` : ''}` || './';
}

export const link = (page, args, ...children) => el('a', { href: address(page, args) }, ...children);

const TYPING = /INPUT|SELECT|TEXTAREA/;

// Calls act(e) for a key that is typed outside of fields.
export function onKeys(act) {
	document.addEventListener('keydown', (e) => {
		if (!e.altKey && !e.ctrlKey && !e.metaKey && !(TYPING.test(e.target.tagName) && e.target.type !== 'checkbox'))
			act(e);
	});
}

// ---- above every page

// What is searched the server knows: a job, a user, a project, a node or a name of jobs.
function search() {
	const box = el('input', { type: 'search', name: site.is_static ? 'name' : 'word', required: true, 'aria-label': 'Search a job, user, project, node or name', placeholder: 'job, user, project, node or name', value: site.arguments?.word ?? null, autocomplete: 'off', maxlength: 500 });

	onKeys((e) => {
		if (e.key === '/') {
			e.preventDefault();
			box.select();
		}
	});
	box.addEventListener('keydown', (e) => e.key === 'Escape' && box.blur());
	return el('form', { role: 'search', action: address(site.is_static ? 'jobs' : 'find') }, box);
}

const LATE_S = 300; // the index reads each minute

const behind = () => (known(site.fed_at) ? Math.max(0, site.now - site.fed_at) : null);

const age = () => (behind() === null ? '' : ` \u00b7 index ${behind() < 90 ? 'up to date' : `${spoken(behind())} behind`}`);

function late() {
	if (!(behind() > LATE_S))
		return '';
	return el('p', { class: 'lag warn', role: 'status' }, severity('warn'), ` The index is ${spoken(behind())} behind: jobs that ended after `, el('b', {}, day(site.fed_at)),
		' are missing, and sums are too low. ', soft('No job is lost: its profile, and Slurm\u2019s accounting, are read when the index reads again.'));
}

// The links to the other pages, above any page of a server.
export function nav() {
	return el('div', { class: 'site', role: 'region', 'aria-label': 'Site' }, el('nav', { 'aria-label': 'Pages' }, PAGES.filter(([p, , who]) => (who === 'all' || site.sees_all || (who === 'leaders' && coordinated(site).length)) && ((site.is_static ? site.files : site.pages)?.includes(p) ?? true))
		.map(([p, t]) => el('a', { href: address(p), 'aria-current': p === (WITHIN[site.page] ?? site.page) ? 'page' : null }, t))),
	search(), el('span', { class: 'who' }, el('b', {}, name(site.user, 30)), site.is_static && site.sees_all ? ' jobs' : sees(site), age()), late());
}

// ---- filters

const RANGES = [['24h', '24 hours'], ['7d', '7 days'], ['30d', '30 days'], ['month', 'this month'], ['all', 'all']];
const STATES = ['completed', 'failed', 'timeout', 'cancelled', 'out_of_memory', 'node_fail', 'preempted'];
const FIELDS = [['user', 'user'], ['project', 'project'], ['name', 'name'], ['state', 'state'], ['partition', 'part.'], ['finding', 'finding'], ['tag', 'tag'], ['nodes', 'nodes', '4-16'],
	['ran', 'ran', '1h-4h'], ['jobs', 'id', '7, 7_2']];
// Behind "more", where the server answers: how each is written stands in its field.
const RARE = [['node', 'on node', 'n[1-4]'], ['ran-at', 'at the time', '2026-11-01T08:00'], ['cluster', 'cluster'], ['program', 'program'], ['cpu-share', 'CPU %', '0-10'],
	['memory-share', 'memory %', '90-'], ['limit-share', 'limit %', '0-10'], ['read', 'read', '100GiB-'], ['written', 'written', '1GiB-2GiB']];
const FORMS = { nodes: /^\d+(-\d*)?$/, ran: /^[\d.]+[smhd](-([\d.]+[smhd])?)?$/ };

const thisMonth = () => {
	const d = new Date(site.now * 1000);

	return `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, '0')}`;
};

const sinceOf = (word) => (word === 'month' ? thisMonth() : word);

// The words that a filter may have: of the index, and the one that is chosen.
function words(field) {
	const of = { state: STATES, finding: ['any', 'none', 'unknown', ...(site.words?.finding ?? [])] }[field] ?? site.words?.[field] ?? [], chosen = site.arguments[field];

	return chosen && !of.includes(chosen) ? [...of, chosen] : of;
}

const SAID = { any: 'with one', unknown: 'no profile' };

function fieldOf([field, title, hint]) {
	const a = site.arguments, set = a[field] ? 'set' : null, list = ['state', 'partition', 'finding', 'tag', 'cluster'].includes(field) ? words(field) : [];

	if (list.length)
		return el('label', {}, title, el('select', { name: field, class: set }, el('option', { value: '' }, 'any'),
			list.map((w) => el('option', { value: w, selected: w === a[field] }, SAID[w] ?? w.replaceAll('_', ' ')))));
	return el('label', {}, title, el('input', { name: field, value: a[field] ?? '', placeholder: hint && RARE.some(([f]) => f === field) ? hint : 'any', title: hint ? `such as ${hint}` : null, class: set, autocomplete: 'off', spellcheck: 'false' }));
}

// From and to, two days of which the second one is included, and what is seldom asked for.
function more(go, others) {
	const a = site.arguments, one = (key, title, value) => el('label', {}, title, el('input', { type: 'date', name: key, value }));
	const isDay = (v) => /^\d{4}-\d\d-\d\d$/.test(v ?? ''), next = (v, n) => new Date(Date.parse(`${v}T00:00Z`) + 86400000 * n).toISOString().slice(0, 10);
	const from = one('from', 'from', isDay(a.since) ? a.since : ''), to = one('to', 'to', isDay(a.until) ? next(a.until, -1) : '');
	// the bars of usage say themselves which of them is chosen
	const d = el('details', { class: 'dates', open: isDay(a.since) || isDay(a.until) || others.some(([f]) => a[f] && !(site.page === 'usage' && f.endsWith('-share'))) }, el('summary', {}, 'more'), el('div', {}, from, to, others.map(fieldOf)));

	d.addEventListener('change', (e) => {
		if (e.target.type !== 'date')
			return;
		e.stopPropagation();
		const [f, t] = [from, to].map((l) => l.querySelector('input').value);

		if (f || t)
			go({ since: f || 'all', until: t ? next(t, 1) : null });
	});
	return d;
}

// In files the list is filtered in the browser, which knows no more than nodes; one cluster is no choice.
const rare = ([field]) => field === 'node' || (!site.is_static && (field !== 'cluster' || words(field).length > 1));

// A form whose fields are arguments of this page; since: the time where the address has none; without: fields that it lacks.
export function filters(since, without = {}, narrow = () => false) {
	const form = el('form', { class: 'filters', 'aria-label': 'Filters' });
	let leaving = ''; // Enter in a field is a change, and sends the form: the server is asked once
	const go = (more) => {
		const args = { ...site.arguments, ...more };
		let isWrong = false;

		for (const input of form.querySelectorAll('label > [name]:not([type=date])')) {
			const v = input.value.trim(), bad = Boolean(v && FORMS[input.name] && !FORMS[input.name].test(v));

			input.setAttribute('aria-invalid', String(bad));
			input.classList.toggle('set', v !== '');
			isWrong ||= bad;
			args[input.name] = bad ? site.arguments[input.name] : v;
		}
		for (const k of Object.keys(args))
			if (!known(args[k]) || args[k] === '')
				delete args[k];
		fold.textContent = told(args);
		if (narrow(args) || isWrong || address(site.page, args) === leaving)
			return;
		leaving = address(site.page, args);
		location.href = leaving;
	};
	const isNow = (w) => (site.arguments.since ?? since) === sinceOf(w) && !site.arguments.until;
	const told = (args) => {
		const set = [...FIELDS, ...RARE].filter(([f]) => args[f]).map(([f, t]) => `${t} ${args[f]}`);

		return set.length ? `filters: ${set.join(', ')}` : 'filters';
	};
	const fold = el('button', { type: 'button', class: 'fold', 'aria-expanded': 'false', onclick: () => fold.setAttribute('aria-expanded', String(form.classList.toggle('open'))) }, told(site.arguments));
	const { since: _, until: __, sort, by, ...rest } = site.arguments;

	form.append(el('span', { class: 'choice' }, RANGES.map(([w, t]) => el('a', { href: address(site.page, { ...site.arguments, since: sinceOf(w), until: null }), 'aria-current': isNow(w) ? 'true' : null }, t))), fold,
		...FIELDS.filter(([f]) => !(f in without)).map(fieldOf), more(go, 'node' in without ? [] : RARE.filter(rare)), el('button', { type: 'submit', class: 'sr' }, 'filter'),
		Object.keys(rest).length ? el('a', { class: 'clear', href: address(site.page, { since: site.arguments.since, until: site.arguments.until, sort, by }) }, 'clear') : '');
	addEventListener('pageshow', () => { leaving = ''; });
	form.addEventListener('change', () => go({}));
	form.addEventListener('submit', (e) => {
		e.preventDefault();
		go({});
	});
	onKeys((e) => {
		if (e.key !== 'f')
			return;
		e.preventDefault();
		form.classList.add('open');
		form.querySelector('label > [name]:not([type=date])').focus();
	});
	return form;
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

// At the site's prices; null: it has none, or the amount is not known.
export const money = (v) => (!known(v) ? '?' : `${v > 0 && v < 0.5 ? '<1' : count(Math.round(v))} ${plain(site?.prices?.currency ?? '')}`.trim());
export const costs = (core_s, gpu_s) => {
	const p = site?.prices, of = (s, price) => (price > 0 && known(s) ? (s / 3600) * price : null), a = of(core_s, p?.core_h), b = of(gpu_s, p?.gpu_h);

	return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
};
export const kwh = (j) => (!known(j) ? '?' : j >= 3.6e10 ? `${few(j / 3.6e9)} MWh` : `${few(j / 3.6e6)} kWh`);

// ---- tables

// A column: key of a row, head, unit, kind of cells or a function of the row, what it means; left: text. rare: left out where no row has it. fixed: it does not sort;
// wide: not on a phone; bar: its cells have a bar below. Of tables of the class pp a row is a card on a phone: phone: its place, label and after: words beside it.
// options: sort, sum, more (a class), keys: false where another table of the page has j and k.
export function table(label, columns, rows, options = {}) {
	const some = columns.filter((c) => !c.rare || rows.some((r) => known(r[c.key]) && r[c.key] !== ''));
	const cell = (c, r) => (typeof c.kind === 'function' ? c.kind(r) : cells[c.kind](r[c.key]));
	const by = (site.arguments.sort ?? options.sort ?? '').replace(/^-/, '');
	const head = (c) => [el('span', { class: 't' }, c.head), el('span', { class: 'u' }, c.unit ?? '')];

	const t = el('table', { class: `g ${options.more ?? ''}`.trim(), 'aria-label': label }, el('thead', {}, el('tr', {}, some.map((c) => el('th', { scope: 'col', 'data-key': c.is ?? c.key, class: [c.left ? 'l' : '', c.wide ? 'wd' : ''].join(' ').trim() || null, title: c.about, 'aria-sort': by === c.key ? 'descending' : null },
		c.fixed ? head(c) : el('a', { href: address(site.page, { ...site.arguments, sort: c.key }) }, head(c)))))),
	el('tbody', {}, rows.map((r) => el('tr', {}, some.map((c, i) => {
		const inside = cell(c, r);

		return el(i ? 'td' : 'th', { scope: i ? null : 'row', class: [c.left ? 'l' : '', c.kind === 'part' || c.bar ? 'vb' : '', c.cut ? 'cut' : '', c.wide ? 'wd' : '', c.phone ?? '', inside === '' || inside === '\u2013' ? 'nil' : ''].join(' ').trim() || null,
			'data-l': c.label ?? null, 'data-a': c.after ?? null }, inside);
	})))),
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

// j and k choose a row, first that after or before the one that the page is about (now); Enter follows its first link.
function rowKeys(t) {
	let at = -1;

	onKeys((e) => {
		const step = e.key === 'j' ? 1 : e.key === 'k' ? -1 : 0, rows = t.tBodies[0].rows;

		if (!rows.length)
			return;
		if (step) {
			rows[at]?.classList.remove('on');
			at = Math.min(rows.length - 1, Math.max(0, (at < 0 ? [...rows].findIndex((r) => r.matches('.now')) : at) + step));
			rows[at].classList.add('on');
			rows[at].scrollIntoView({ block: 'nearest' });
			e.preventDefault();
		} else if (e.key === 'Enter' && at >= 0 && !/^(A|BUTTON|SUMMARY)$/.test(e.target.tagName)) {
			rows[at].querySelector('a')?.click();
		}
	});
}

// What the columns mean, for those who have no pointer to hold over a head.
export const means = (columns) => el('details', { class: 'low means' }, el('summary', {}, 'What the columns mean'),
	el('dl', { class: 'dl' }, columns.filter((c) => c.about).map((c) => [el('dt', {}, c.head, c.unit ? `, ${c.unit}` : ''), el('dd', {}, c.about)])));

export const severity = (word) => el('span', { class: `sev ${word}` }, word.toUpperCase());

// A button that puts a line where it can be pasted; where the browser forbids that, the line is selected beside it.
export const copy = (line) => el('button', { type: 'button', class: 'copy', onclick: async (e) => {
	const button = e.currentTarget;

	try {
		await navigator.clipboard.writeText(typeof line === 'function' ? line() : line);
		button.firstChild.textContent = 'copied';
	} catch {
		const code = button.previousElementSibling;

		if (code)
			getSelection().selectAllChildren(code);
	}
} }, el('span', {}, 'copy'));

// ---- the whole of a page

const quoted = (word) => (/^[\w./@%+:=,-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`);
const foot = {};
const commandOf = (verb, args) => ['jobprof', verb, ...Object.entries(args).filter(([, v]) => known(v)).map(([k, v]) => quoted(v === '' ? `--${k}` : `--${k}=${v}`))].join(' ');

// The address, the CSV and the command are those of other arguments: the page shows their rows without asking.
export function moveTo(args) {
	site.arguments = args;
	history.replaceState(null, '', address(site.page, args) + location.hash);
	foot.csv.href = `${site.root ?? ''}${site.page}.csv${location.search}`;
	foot.command.textContent = commandOf(site.page, args);
}

// Keys of one page, beside those of all.
const KEYS = { jobs: [['x', 'choose']], running: [['p', 'stop']] };

// The command that prints a table which is not the page's first one, and its CSV.
const same = (what, verb, args) => [el('code', {}, commandOf(verb, args)), copy(() => commandOf(verb, args)), site.is_static ? '' : [' ', el('a', { href: address(`${verb}.csv`, args), 'aria-label': `CSV: ${what}` }, 'CSV')]];

// Below such a table: args are the page's and that of the table, by which its verb knows it.
export const below = (what, args) => el('p', { class: 'same' }, same(what, site.page, { ...site.arguments, ...args, csv: '' }));

// The same of several at the end of a page: [what, verb, arguments] of each.
export function others(list) {
	foot.e.append(el('ul', { class: 'others' }, list.map(([what, ...of]) => el('li', {}, `${what}: `, same(what, ...of)))));
}

export function shell(title, about, ...parts) {
	foot.csv = el('a', { href: `${site.root ?? ''}${site.page}.csv${location.search}` }, ['io', 'findings'].includes(site.page) ? 'CSV of these tables' : 'CSV of this table');
	foot.csv.hidden = site.is_static;
	foot.command = el('code', {}, site.command ?? 'jobprof');
	foot.e = el('footer', {}, 'The same in a terminal: ', foot.command, copy(() => foot.command.textContent), ` \u00b7 jobprof ${site.version}`);
	document.title = plain(`${[title].flat(3).map((t) => t?.textContent ?? t).join('').trim()} \u00b7 jobprof`);
	document.body.append(el('header', {}, el('div', {}, el('h1', {}, title), el('p', { class: 'about' }, about)),
		el('p', { class: 'keys' }, el('span', { class: 'keyed' }, el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' row ', el('kbd', {}, '\u21b5'), ' open ', el('kbd', {}, '/'), ' search ', parts.some((p) => p?.getAttribute?.('aria-label') === 'Filters') ? [el('kbd', {}, 'f'), ' filter '] : '', (KEYS[site.page] ?? []).map(([key, does]) => [el('kbd', {}, key), ` ${does} `]), el('br')), foot.csv)),
	el('main', {}, parts.filter(Boolean)), foot.e);
}

// There is no table to fetch.
export function noTable() {
	foot.csv.hidden = true;
}

export function wrong() {
	const asked = name(Object.entries(site.arguments).map(([k, v]) => `${k} ${v}`).join(', ') || 'no argument', 300);

	shell('These arguments make no sense', typeof site.error === 'string' ? el('b', {}, name(site.error, 300)) : ['One of these cannot be read: ', el('b', {}, asked)], filters('7d'),
		section('wrong', 'What can be asked', '', el('p', { class: 'words' }, 'Times are 24h, 7d, 2026-11-01; nodes 4, 4-16 or 8-; ran 1h- or 10m-2h; states completed, failed, timeout; findings a rule, any, none or unknown; read and written 100GiB- or 1MiB-2GiB; shares of CPU, memory and limit 0-10 or 90-, in %; at the time 2026-11-01T08:00.')));
	noTable();
}
