// SPDX-License-Identifier: GPL-2.0-or-later
// Which running job needs somebody now? Rows change in place when the server has something new, and are not moved while one is
// chosen or pointed at.
import { el, name, section, soft } from './dom.js';
import { count, plain, spoken } from './format.js';
import { nothing } from './mine.js';
import { address, few, hm, known, link, means, shell, site } from './site.js';

const PERIOD_S = 30; // without a stream
const LOSES = 1; // cores: a job that loses less is one of the others
const LATE_S = 300;
const SOON_S = 1800;
const SEVERITIES = ['note', 'warn', 'bad'];
const NS = 'http://www.w3.org/2000/svg';

const two = (n) => String(n).padStart(2, '0');

export function clock(s, seconds = false) {
	const d = new Date(s * 1000);

	return `${two(d.getHours())}:${two(d.getMinutes())}${seconds ? `:${two(d.getSeconds())}` : ''}`;
}

// Of another day: "11-28 08:15".
const since = (s, now) => (now - s > 43200 ? `${two(new Date(s * 1000).getMonth() + 1)}-${two(new Date(s * 1000).getDate())} ` : '') + clock(s);

export const isNeeded = (r) => known(r.full_at) || (r.losing_cores ?? 0) >= LOSES;
export const idOf = (r) => (known(r.array_task) ? `${r.array_id}_${r.array_task}` : String(r.job_id));
const keyOf = (r) => `${r.job_id} ${r.cluster}`;

// The line through the CPU of the last minutes, 0 to 100 %, in pieces where some are not known.
export function path(values, w, h) {
	let isDrawn = false;

	return values.map((v, i) => {
		const text = known(v) ? `${isDrawn ? 'L' : 'M'}${(i * w / Math.max(1, values.length - 1)).toFixed(1)} ${(h - 1 - (h - 2) * Math.min(100, v) / 100).toFixed(1)}` : '';

		isDrawn = known(v);
		return text;
	}).join('');
}

function line(values, w = 58, h = 14) {
	const some = values.filter(known), last = values.at(-1), label = `CPU of the last ${some.length} min: ${some.length ? `${Math.min(...some)} to ${Math.max(...some)} %, now ${known(last) ? `${last} %` : 'not known'}` : 'not known'}`;
	const draw = (tag, attributes, ...children) => {
		const e = document.createElementNS(NS, tag);

		for (const [k, v] of Object.entries(attributes))
			e.setAttribute(k, String(v));
		e.append(...children);
		return e;
	};
	const parts = [draw('title', {}, label), draw('path', { d: path(values, w, h) })];

	if (known(last))
		parts.push(draw('circle', { cx: w, cy: (h - 1 - (h - 2) * Math.min(100, last) / 100).toFixed(1), r: 1.7 }));
	return draw('svg', { class: 'spark', width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': label }, ...parts);
}

const severity = (n) => el('span', { class: `sev ${SEVERITIES[n] ?? 'note'}` }, (SEVERITIES[n] ?? 'note').toUpperCase());
const bar = (v) => el('i', { class: 'v', 'data-v': Math.min(1, Math.max(0, v)) });
const percent = (v, isBold = false) => (known(v) ? [isBold ? el('b', {}, Math.round(100 * v)) : String(Math.round(100 * v)), bar(v)] : soft('?'));
const left = (r, now) => (known(r.start) && known(r.limit_s) ? r.start + r.limit_s - now : null);
const early = (r) => (known(r.found) && known(r.start) && r.found - r.start < 3600 ? `, judged from minute ${Math.max(1, Math.floor((r.found - r.start) / 60))}` : '');

function finding(r, now) {
	if (!known(r.findings))
		return soft('not known: no profile');
	if (known(r.full_at))
		return [severity(r.severity), ' ', el('b', {}, `memory is full in ${spoken(Math.max(0, r.full_at - now))}`), soft(': '), name(r.text ?? r.rule, 200)];
	return r.rule === 'none' || !known(r.rule) ? soft(nothing(r)) : [severity(r.severity), ' ', name(r.text ?? r.rule, 200)];
}

function rest(r, now) {
	const s = left(r, now);

	if (s === null)
		return known(r.limit_s) ? soft('?') : soft('no limit');
	return [el('i', { class: 'lim', 'data-v': Math.min(1, Math.max(0, 1 - s / r.limit_s)) }), s < SOON_S ? el('b', {}, spoken(Math.max(0, s))) : spoken(s)];
}

const of = (key, arg, v, most) => (v ? link('jobs', { [arg]: key === 'name' ? `=${v}` : v }, name(v, most)) : soft('?'));
const on = (r) => [`${known(r.nodes) ? count(r.nodes) : '?'} \u00d7 ${known(r.cores) && r.nodes ? few(r.cores / r.nodes).replace(/\.0+$/, '') : '?'}`, r.gpus ? soft(` +${count(r.gpus)}G`) : ''];

// p: place on a telephone; put: the cell's contents, of a row and the time.
const COLUMNS = [
	{ key: 'text', head: 'What holds it back', left: true, cut: true, p: 'p3', put: finding, about: 'the finding that will end the job first, else the dearest one, of those that hold now; the job\u2019s number opens all of them' },
	{ key: 'since', head: 'Since', p: 'p2', label: 'since', put: (r, now) => (known(r.since) ? el('span', { title: plain(`since ${since(r.since, now)}${early(r)}`) }, since(r.since, now)) : ''), about: 'when it began, as far as rows tell' },
	{ key: 'losing_cores', head: 'Loses', unit: 'core-h an hour', p: 'p1r', unit2: 'core-h/h', put: (r) => (known(r.losing_cores) && r.losing_cores >= 0.005 ? el('b', {}, few(r.losing_cores)) : soft(known(r.findings) ? '\u2013' : '?')), about: 'core-hours that it loses in each hour that it goes on like this: what its findings that hold now cost' },
	{ key: 'job_id', head: 'Job', left: true, p: 'p2', about: 'its number opens what is known of it' },
	{ key: 'user', head: 'User', left: true, p: 'p2', put: (r) => [of('user', 'user', r.user, 16), r.account ? soft(' ', name(r.account, 16)) : ''], about: 'user and project' },
	{ key: 'name', head: 'Name', left: true, p: 'p1', put: (r) => of('name', 'name', r.name, 20) },
	{ key: 'partition', head: 'Part.', left: true, put: (r) => name(r.partition || '?', 12) },
	{ key: 'nodes', head: 'On', unit: 'nodes \u00d7 cores', p: 'p2', put: on, about: 'nodes, and cores of each' },
	{ key: 'start', head: 'Ran', unit: 'h:min', p: 'p2', label: 'ran', put: (r, now) => (known(r.start) ? hm(Math.max(0, now - r.start)) : '?') },
	{ key: 'left', head: 'Left', unit: 'of its limit', p: 'p2', label: 'left', put: rest, about: 'until the time limit; the bar is what is over of it; bold below half an hour' },
	{ key: 'cpu_share', head: 'CPU', unit: '%', bar: true, p: 'p2', label: 'CPU', unit2: '%', put: (r) => percent(r.cpu_share), about: 'CPU time of what its cores could have worked in the last 5 minutes' },
	{ key: 'spark', head: 'CPU', unit: '30 min', left: true, p: 'screen', put: (r) => (r.spark ? line(r.spark) : ''), about: 'the same of each of the last 30 minutes, 0 to 100 %' },
	{ key: 'memory_share', head: 'Mem', unit: '% of limit', bar: true, p: 'p2', label: 'mem', unit2: '%', put: (r) => percent(r.memory_share, r.memory_share > 0.9), about: 'without cached files, of the fullest node, now; bold above 90 %' },
	{ key: 'gpu_share', head: 'GPU', unit: '%', bar: true, p: 'p2', label: 'GPU', unit2: '%', put: (r) => (r.gpus ? percent(r.gpu_share) : soft('\u2013')), about: 'mean use of its GPUs in the last 5 minutes' },
	{ key: 'io_bytes_s', head: 'I/O', unit: 'MiB/s', put: (r) => (known(r.io_bytes_s) ? few(r.io_bytes_s / 1048576) : soft('?')), about: 'read and written in the last 5 minutes' },
];

const WAITING = [
	['Job', (r) => (r.array_tasks ? `${r.array_id ?? r.job_id}_[${plain(r.array_tasks)}]` : idOf(r)), 'p2'], ['User', (r) => [of('user', 'user', r.user, 16), r.account ? soft(' ', name(r.account, 16)) : ''], 'p2'], ['Name', (r) => of('name', 'name', r.name, 20), 'p1'],
	['Part.', (r) => name(r.partition || '?', 16), ''], ['On', on, 'p2'], ['Waits for', (r) => name(r.reason ?? '?', 60), 'p3'], ['May begin', (r, now) => (known(r.estimated) ? `${since(r.estimated, now)}?` : soft('?')), 'p1r'], ['Limit', (r) => (known(r.limit_s) ? hm(r.limit_s) : '?'), '']];

// ---- one row

function holds(f, now) {
	return el('li', {}, severity(SEVERITIES.indexOf(f.severity)), ' ', el('b', {}, plain(f.rule)), known(f.since) ? soft(` since ${since(f.since, now)}`) : '',
		known(f.losing_cores) ? soft(`, ${few(f.losing_cores)} core-h an hour`) : '', el('br'), name(f.text ?? '', 2000),
		known(f.full_at) ? [el('br'), el('b', {}, `Memory is full at ${clock(f.full_at)}`), known(f.full_at_low) && known(f.full_at_high) ? soft(` (${clock(f.full_at_low)} to ${clock(f.full_at_high)})`) : ''] : '',
		f.remedy ? [el('br'), soft(name(f.remedy, 2000))] : '');
}

function detail(r, now) {
	const list = r.finding_list ?? [];

	return el('tr', { class: 'detail' }, el('td', { colspan: COLUMNS.length, class: 'l p3' }, list.length ? el('ul', {}, list.map((f) => holds(f, now))) : soft(known(r.findings) ? 'None of the rules has found anything that holds it back now. ' : 'Its steps have no files yet, or are not profiled. '),
		el('p', { class: 'soft' }, [r.node_list ? [/^[\w.-]+$/.test(r.node_list) ? ['node ', link('node', { node: r.node_list, cluster: r.cluster }, name(r.node_list, 80))] : ['nodes ', name(r.node_list, 80)]] : '', known(r.last) ? ` \u00b7 last row ${clock(r.last, true)}` : '', r.program ? [' \u00b7 ', name(r.program, 80)] : '', ' \u00b7 ', known(r.findings) ? el('a', { href: address(`job/${idOf(r)}`) }, 'page of the job') : '', ' \u00b7 ', el('code', {}, `jobprof seff ${r.job_id}`)])));
}

class Row {
	constructor(page, r) {
		this.page = page;
		this.key = keyOf(r);
		this.button = el('button', { type: 'button', class: 'open', 'aria-expanded': 'false', onclick: () => page.open(this) }, idOf(r));
		this.cells = COLUMNS.map((c) => el('td', { class: [c.left ? 'l' : '', c.bar ? 'vb' : '', c.cut ? 'cut' : '', c.p ?? ''].join(' ').trim() || null, 'data-l': c.label, 'data-a': c.unit2 }));
		this.cells[COLUMNS.findIndex((c) => c.key === 'job_id')].append(this.button);
		this.tr = el('tr', { 'data-key': this.key, onclick: (e) => !e.target.closest('a, button') && page.choose(this) }, this.cells);
		this.detail = null;
	}

	// Only what differs is drawn again: what is pointed at stays.
	put(r, now) {
		this.r = r;
		COLUMNS.forEach((c, i) => {
			if (!c.put)
				return;
			const fresh = el('td', {}, c.put(r, now));

			for (const v of fresh.querySelectorAll('[data-v]'))
				v.style.setProperty('--v', `${100 * Number(v.dataset.v)}%`);
			this.cells[i].classList.toggle('nil', /^[\u2013?]?$/.test(fresh.textContent)); // which a telephone leaves out
			if (fresh.innerHTML !== this.cells[i].innerHTML)
				this.cells[i].replaceChildren(...fresh.childNodes);
		});
		if (this.detail) {
			const fresh = detail(r, now);

			this.detail.replaceChildren(...fresh.childNodes);
		}
	}

	rows() {
		return this.detail ? [this.tr, this.detail] : [this.tr];
	}
}

// ---- the page

class Page {
	constructor(d) {
		this.d = d;
		this.now = site.now;
		this.ahead = site.now - Date.now() / 1000;
		this.byKey = new Map();
		this.list = [];
		this.isAll = Boolean(site.arguments.user || site.arguments.jobs || site.arguments.name);
		this.isHeld = false;
		this.isStopped = false;
		this.chosen = null;
		this.way = 'begins';
		this.sum = el('span', {});
		this.state = el('span', { class: 'upd' });
		this.told = el('p', { class: 'sr', role: 'status', 'aria-live': 'polite' });
		this.body = el('tbody', {});
		this.table = el('table', { class: 'g pp live', 'aria-label': 'Running jobs, those first that need somebody' }, el('thead', {}, el('tr', {}, COLUMNS.map((c) => el('th', { scope: 'col', class: c.left ? `l ${c.p ?? ''}` : null, title: c.about },
			el('span', { class: 't' }, c.head), el('span', { class: 'u' }, c.unit ?? ''))))), this.body);
		this.others = el('button', { type: 'button', class: 'others soft', onclick: () => this.fold() });
		this.none = el('p', { class: 'none' });
		this.parts = el('p', { class: 'choice' });
		this.waiting = el('div', {});
		this.late = el('p', { class: 'warn late', role: 'status' });
	}

	fold() {
		this.isAll = !this.isAll;
		this.draw(new Set());
	}

	// In the server's order, which those that are pointed at keep until the pointer has gone.
	merge(d) {
		const fresh = new Set(), before = this.byKey, first = !before.size;

		this.d = d;
		this.byKey = new Map(d.rows.map((r) => {
			const row = before.get(keyOf(r)) ?? new Row(this, r);

			if (!first && known(r.rule) && r.rule !== 'none' && row.r?.rule !== r.rule)
				fresh.add(row);
			row.put(r, this.now);
			row.tr.classList.remove('gone');
			return [row.key, row];
		}));
		if (this.isFixed()) {
			for (const row of this.list)
				row.tr.classList.toggle('gone', !this.byKey.has(row.key));
			this.list.push(...[...this.byKey.values()].filter((row) => !this.list.includes(row)));
		} else {
			this.list = [...this.byKey.values()];
		}
		if (fresh.size) {
			const row = [...fresh][0];

			this.told.textContent = plain(fresh.size > 1 ? `${fresh.size} jobs have new findings; the first: job ${idOf(row.r)}, ${row.r.text}` : `New finding: job ${idOf(row.r)}, ${row.r.text}`);
		}
		this.draw(fresh);
	}

	isFixed() {
		return this.isHeld || this.chosen !== null;
	}

	settle() {
		if (this.isFixed())
			return;
		this.list = [...this.byKey.values()];
		this.draw(new Set());
	}

	draw(fresh) {
		const list = this.list.filter((row) => this.isAll || isNeeded(row.r) || row === this.chosen || row.detail), trs = list.flatMap((row) => row.rows());
		const more = this.d.jobs - this.d.rows.length, folded = this.list.length - list.length + Math.max(0, more);

		if (trs.length !== this.body.rows.length || trs.some((tr, i) => tr !== this.body.rows[i])) {
			const focused = this.body.contains(document.activeElement) ? document.activeElement : null;

			this.body.replaceChildren(...trs);
			focused?.focus({ preventScroll: true });
		}
		for (const row of this.list)
			row.tr.classList.toggle('new', fresh.has(row));
		this.table.hidden = !list.length;
		this.others.hidden = !this.list.length || (!folded && !this.list.some((row) => !isNeeded(row.r)));
		this.others.textContent = this.isAll ? 'only those that lose 1 core-hour an hour or more' : `${count(folded)} other${folded === 1 ? '' : 's'}: ${folded === 1 ? 'it loses' : 'they lose'} less than 1 core-hour an hour`;
		this.none.hidden = list.length > 0 || !known(this.d.looked);
		this.none.replaceChildren(el('b', {}, this.d.jobs ? 'No running job loses 1 core-hour an hour or more' : 'No job runs'), this.d.jobs ? '' : soft(' A job is here a minute after its start.'));
		this.head(more);
	}

	head(more) {
		const d = this.d;

		this.sum.replaceChildren(...!known(d.looked) && !d.jobs ? [el('b', {}, 'Which jobs run is not known')] : !d.jobs ? [el('b', {}, 'No job runs'), ` \u00b7 ${count(d.waiting)} wait${d.waiting === 1 ? 's' : ''}`] : [el('b', {}, `${count(d.losing)} of ${count(d.jobs)} running job${d.jobs === 1 ? '' : 's'} lose${d.losing === 1 ? 's' : ''} 1 core-hour an hour or more, or will run out of memory`), d.bad ? `, ${count(d.bad)} BAD` : '', ' \u00b7 ',
			el('b', {}, `${few(d.losing_cores ?? 0)} core-h lost each hour`), known(d.cores) ? ` of ${count(Math.round(d.cores))} held` : '', ` \u00b7 ${count(d.waiting)} wait${d.waiting === 1 ? 's' : ''}`, more > 0 ? [' \u00b7 ', el('a', { href: `${address('running', { ...site.arguments, all: null })}${Object.keys(site.arguments).length ? '&' : '?'}all` }, `${count(more)} more`)] : ''].flat());
		this.late.hidden = known(d.looked) && this.now - d.looked < LATE_S;
		this.late.textContent = known(d.looked) ? `This is as it was ${spoken(this.now - d.looked)} ago: jobprof index watch does not look.` : 'Nobody has looked at running jobs yet: jobprof index watch does that.';
		this.status();
		this.partitions();
		this.wait();
	}

	status() {
		const ways = { begins: '', stream: '', asks: `no stream: asks each ${PERIOD_S} s, `, again: 'the stream is broken: tries again, ' };

		this.state.replaceChildren(this.isStopped ? el('b', {}, 'stopped, ') : ways[this.way], known(this.d.looked) ? `as of ${clock(this.d.looked, true)} ` : '',
			el('button', { type: 'button', class: 'stop', 'aria-keyshortcuts': 'p', onclick: () => this.stop() }, this.isStopped ? 'go on' : 'stop'));
	}

	partitions() {
		const n = new Map(), now = site.arguments.partition;

		for (const row of this.byKey.values())
			n.set(row.r.partition, (n.get(row.r.partition) ?? 0) + 1);
		this.parts.replaceChildren(...[['', this.byKey.size], ...[...n].sort(([, a], [, b]) => b - a).slice(0, 12)].filter(([p]) => !now || !p || p === now)
			.map(([p, k]) => el('a', { href: address('running', { ...site.arguments, partition: p }), 'aria-current': p === (now ?? '') ? 'true' : null }, p ? name(p, 20) : 'all partitions', (p || !now) && known(this.d.looked) ? soft(` ${count(k)}`) : '')));
	}

	wait() {
		const rows = this.d.waiting_rows, n = this.d.waiting;

		this.waiting.replaceChildren(...(n ? [section('waiting', 'Waiting', `${count(n)} job${n === 1 ? '' : 's'}, those that may begin soonest first`, el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Waiting jobs' },
			el('table', { class: 'g pp' }, el('thead', {}, el('tr', {}, WAITING.map(([h]) => el('th', { scope: 'col', class: 'l' }, h)))), el('tbody', {}, rows.map((r) => el('tr', {}, WAITING.map(([, put, p]) => el('td', { class: `l ${p}`.trim() }, put(r, this.now)))))))),
		n > rows.length ? el('p', { class: 'soft' }, `These are the first ${count(rows.length)}.`) : '')] : []));
	}

	// Ran and left go on between two answers.
	tick() {
		this.now = Date.now() / 1000 + this.ahead;
		for (const row of this.byKey.values())
			row.put(row.r, this.now);
	}

	// ---- what a reader does

	choose(row) {
		this.chosen?.tr.classList.remove('on');
		this.chosen = this.chosen === row ? null : row;
		this.chosen?.tr.classList.add('on');
		this.settle();
	}

	open(row) {
		const isOpen = row.detail !== null;

		row.detail?.remove();
		row.detail = isOpen ? null : detail(row.r, this.now);
		row.button.setAttribute('aria-expanded', String(!isOpen));
		if (!isOpen)
			row.tr.after(row.detail);
	}

	step(by) {
		const seen = this.list.filter((row) => row.tr.isConnected), at = seen.indexOf(this.chosen), row = seen[Math.min(seen.length - 1, Math.max(0, at + by))];

		if (row && row !== this.chosen)
			this.choose(row);
		row?.tr.scrollIntoView({ block: 'nearest' });
	}

	stop() {
		this.isStopped = !this.isStopped;
		if (this.isStopped)
			this.unhear();
		else
			this.hear();
		this.status();
	}

	key(e) {
		if (e.altKey || e.ctrlKey || e.metaKey || /INPUT|SELECT|TEXTAREA/.test(e.target.tagName))
			return;
		if (e.key === 'j' || e.key === 'k')
			this.step(e.key === 'j' ? 1 : -1);
		else if (e.key === 'Enter' && this.chosen && !/^(A|BUTTON|SUMMARY)$/.test(e.target.tagName))
			this.open(this.chosen);
		else if (e.key === 'Escape' && this.chosen)
			this.choose(this.chosen);
		else if (e.key === 'p')
			this.stop();
		else
			return;
		e.preventDefault();
	}

	// ---- what the server says

	take(text) {
		const d = JSON.parse(text);

		if (!Array.isArray(d?.rows))
			return;
		this.now = Date.now() / 1000 + this.ahead;
		this.merge(d);
	}

	async ask() {
		try {
			const answer = await fetch(`running.json${location.search}`);

			if (answer.ok && !this.isStopped)
				this.take(await answer.text());
		} catch {
			// the next one may come
		}
	}

	// One stream while the page is seen. Where it does not come, the page asks.
	hear() {
		if (this.source || this.isStopped || document.hidden || site.is_static)
			return;
		if (typeof EventSource !== 'function') {
			this.poll();
			return;
		}
		this.source = new EventSource(`running.events${location.search}`);
		this.source.onmessage = (e) => {
			this.set('stream');
			this.take(e.data);
		};
		this.source.addEventListener('same', () => this.set('stream'));
		this.source.onerror = () => {
			if (this.source?.readyState === EventSource.CLOSED)
				this.poll();
			else
				this.set('again');
		};
	}

	poll() {
		this.source?.close();
		this.source = null;
		this.set('asks');
		this.timer ??= setInterval(() => !document.hidden && this.ask(), PERIOD_S * 1000);
	}

	unhear() {
		this.source?.close();
		this.source = null;
		clearInterval(this.timer);
		this.timer = undefined;
	}

	set(way) {
		if (way === 'stream') {
			clearInterval(this.timer);
			this.timer = undefined;
		}
		if (this.way === way)
			return;
		this.way = way;
		this.status();
	}

	begin() {
		this.body.addEventListener('pointerenter', () => {
			this.isHeld = true;
		});
		this.body.addEventListener('pointerleave', () => {
			this.isHeld = false;
			this.settle();
		});
		document.addEventListener('keydown', (e) => this.key(e));
		document.addEventListener('visibilitychange', () => (document.hidden ? this.unhear() : this.hear()));
		setInterval(() => !this.isStopped && !document.hidden && this.tick(), 5000);
		this.hear();
	}
}

export function running({ running: d }) {
	const page = new Page(d);

	shell('Live', page.sum, page.state, page.told, page.late, page.parts, el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Running jobs' }, page.table), page.others, page.none, page.waiting, means(COLUMNS));
	page.merge(d);
	page.begin();
	return { running: d, page };
}
