// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof flame --html`: a box per function, what it called below it. A click makes a box as wide as
// the page; words find boxes; an interval of time can be chosen.
import { el, low, name, section, table } from './dom.js';
import { count, plain, share, time } from './format.js';

const KINDS = ['user', 'kernel', 'cause'];
const LINE = 20; // pixels of a row of boxes
const LEAST = 0.0008; // of the page's width: narrower boxes are left out
const BOXES = 4000;

// Nodes by number with their children; the first is the root.
export function tree(data) {
	const nodes = [{ name: 'all', kind: 'cause', parent: -1, children: [] }];

	for (const [parent, at, kind] of data.nodes)
		nodes.push({ name: String(data.names[at] ?? '?'), kind: KINDS[kind] ?? 'user', parent, children: [] });
	nodes.forEach((n, i) => { if (i && n.parent < i) nodes[n.parent].children.push(i); });
	nodes.forEach((n) => n.children.sort((a, b) => (nodes[a].name < nodes[b].name ? -1 : 1)));
	return nodes;
}

// The ends of all intervals.
export const ends = (data) => [...new Set(data.counts.map((c) => c[1]))].sort((a, b) => a - b);

// Seconds of each node, alone and with its children, of each run, in intervals that end in (from, to].
export function weigh(data, nodes, from, to) {
	const runs = data.labels.map(() => ({ self: new Array(nodes.length).fill(0), total: new Array(nodes.length).fill(0) }));

	for (const [run, end, node, seconds] of data.counts)
		if (end > from && end <= to)
			runs[run].self[node] += seconds;
	for (const r of runs)
		for (let i = nodes.length - 1; i >= 0; i--) {
			r.total[i] += r.self[i];
			if (i)
				r.total[nodes[i].parent] += r.total[i];
		}
	return runs;
}

// Boxes of what is below a node, which is as wide as the page, and of what called it: [{node, row, left, width}] in
// parts of the width.
export function boxes(nodes, runs, focus) {
	const width = (i) => Math.max(...runs.map((r) => r.total[i]));
	const above = [], out = [];

	for (let i = focus; i > 0; i = nodes[i].parent)
		above.unshift(nodes[i].parent);
	above.forEach((node, row) => out.push({ node, row, left: 0, width: 1 }));
	const put = (node, row, left, part) => {
		if (part < LEAST || out.length >= BOXES)
			return;
		out.push({ node, row, left, width: part });
		const inner = nodes[node].children.reduce((sum, c) => sum + width(c), 0);
		const all = Math.max(inner, width(node));

		for (const c of all > 0 ? nodes[node].children : []) {
			put(c, row + 1, left, part * width(c) / all);
			left += part * width(c) / all;
		}
	};
	put(focus, above.length, 0, 1);
	return out;
}

// Those whose name has the words, whatever the case of letters; and how much of the time is below them.
export function found(nodes, run, words) {
	const wanted = words.trim().toLowerCase(), hits = new Set();
	let seconds = 0;

	if (!wanted)
		return { hits, seconds };
	const inside = new Array(nodes.length).fill(false);

	nodes.forEach((n, i) => {
		const hit = i > 0 && n.name.toLowerCase().includes(wanted);

		inside[i] = hit || (i > 0 && inside[n.parent]);
		if (hit)
			hits.add(i);
		if (hit && !inside[n.parent])
			seconds += run.total[i];
	});
	return { hits, seconds };
}

// Time in each function, alone and with what it calls; one that calls itself counts once.
export function functions(nodes, run) {
	const all = new Map();

	nodes.forEach((n, i) => {
		if (!i)
			return;
		const f = all.get(n.name) ?? { name: n.name, self: 0, total: 0 };
		let up = n.parent;

		while (up > 0 && nodes[up].name !== n.name)
			up = nodes[up].parent;
		f.self += run.self[i];
		f.total += up > 0 ? 0 : run.total[i];
		all.set(n.name, f);
	});
	return [...all.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

// Of a difference: more is red, less is blue.
function changed(was, is) {
	const part = Math.max(was, is) > 0 ? (is - was) / Math.max(was, is) : 0, pale = Math.round(240 - 120 * Math.abs(part));

	return part > 0 ? `rgb(245 ${pale} ${pale})` : `rgb(${pale} ${pale} 245)`;
}

export class Graph {
	constructor(data) {
		this.data = data;
		this.nodes = tree(data);
		this.focus = this.at = 0;
		this.words = '';
		this.ends = ends(data);
		this.from = -1;
		this.to = Infinity;
		this.box = el('div', { class: 'flame', role: 'group', 'aria-label': 'Flame graph', onkeydown: (e) => this.key(e) });
		this.said = el('p', { class: 'soft', role: 'status' });
		this.rows = el('div');
	}

	describe(i) {
		const last = this.runs.at(-1), all = last.total[0];
		const now = `${time(last.total[i])}${all > 0 ? `, ${share(last.total[i] / all)}` : ''}`;

		return this.runs.length > 1 ? `${now}, before ${time(this.runs[0].total[i])}` : now;
	}

	draw() {
		this.runs = weigh(this.data, this.nodes, this.from, this.to);
		const shown = boxes(this.nodes, this.runs, this.focus), { hits, seconds } = found(this.nodes, this.runs.at(-1), this.words);
		const had = this.box.contains(document.activeElement);

		this.buttons = new Map();
		if (!shown.some((b) => b.node === this.at))
			this.at = this.focus;
		this.box.replaceChildren(...shown.map((b) => this.button(b, hits)));
		this.box.style.height = `${LINE * (1 + Math.max(...shown.map((b) => b.row)))}px`;
		if (had)
			this.buttons.get(this.at)?.focus();
		this.said.replaceChildren(this.words.trim()
			? `${hits.size ? time(seconds) : 'nothing'} in functions with that name` : `${plain(this.nodes[this.focus].name)}: ${this.describe(this.focus)}`);
		this.rows.replaceChildren(table('Functions as a table', ['Function', 'alone', 'with what it calls'],
			() => functions(this.nodes, this.runs.at(-1)).map((f) => [name(f.name), time(f.self), time(f.total)]), '', 'functions'));
	}

	button(b, hits) {
		const n = this.nodes[b.node], text = `${n.name}: ${this.describe(b.node)}`;
		const e = el('button', {
			class: `fl ${n.kind}${hits.has(b.node) ? ' hit' : ''}${hits.size && !hits.has(b.node) ? ' dim' : ''}`,
			title: text, 'aria-label': text, tabindex: b.node === this.at ? 0 : -1, onclick: () => this.zoom(b.node),
		}, b.width > 0.02 ? n.name : '');

		e.style.left = `${100 * b.left}%`;
		e.style.width = `${100 * b.width}%`;
		e.style.top = `${LINE * b.row}px`;
		if (this.runs.length > 1)
			e.style.background = changed(this.runs[0].total[b.node], this.runs[1].total[b.node]);
		this.buttons.set(b.node, e);
		return e;
	}

	zoom(node) {
		this.focus = this.at = node;
		this.draw();
	}

	go(node) {
		if (!this.buttons.has(node))
			return;
		this.buttons.get(this.at)?.setAttribute('tabindex', '-1');
		this.at = node;
		this.buttons.get(node).setAttribute('tabindex', '0');
		this.buttons.get(node).focus();
	}

	// Up and Down go to callers and called ones, Left and Right to those beside them; Escape shows all.
	key(e) {
		const n = this.nodes[this.at], widest = n.children.filter((c) => this.buttons.has(c))
			.sort((a, b) => this.runs.at(-1).total[b] - this.runs.at(-1).total[a])[0];
		const beside = this.at ? this.nodes[n.parent].children.filter((c) => this.buttons.has(c)) : [this.at];
		const to = { ArrowUp: n.parent, ArrowDown: widest, ArrowLeft: beside[beside.indexOf(this.at) - 1],
			ArrowRight: beside[beside.indexOf(this.at) + 1] };

		if (e.key === 'Escape')
			this.zoom(0);
		else if (e.key in to)
			this.go(to[e.key]);
		else
			return;
		e.preventDefault();
	}
}

function interval(graph) {
	const starts = [0, ...graph.ends];
	const choice = (label, values, chosen, set) => el('label', {}, label, ' ',
		el('select', { onchange: (e) => { set(Number(e.target.value)); graph.draw(); } },
			values.map((v, i) => el('option', { value: i, selected: i === chosen }, time(v)))));

	if (graph.ends.length < 2)
		return null;
	return el('span', {}, choice('from', starts.slice(0, -1), 0, (i) => { graph.from = i ? starts[i] : -1; }), ' ',
		choice('to', graph.ends, graph.ends.length - 1, (i) => { graph.to = graph.ends[i]; }));
}

const finder = (graph) => el('input', { type: 'search', placeholder: 'Find a function', 'aria-label': 'Find a function',
	oninput: (e) => { graph.words = e.target.value; graph.draw(); } });
const whole = (graph) => el('button', { class: 'all', onclick: () => graph.zoom(0) }, 'Show all');

const OF_REPORT = [
	{ key: 'flame', name: 'Running', did: 'ran', about: 'by samples of running threads' },
	{ key: 'flame_blocked', name: 'Blocked', did: 'were blocked', about: 'of threads that were blocked for 1 ms and more, below what blocked them' },
];

// The hottest functions as a part of the page of a report; a choice where it has both kinds of stacks.
export function stacks(report) {
	const kinds = OF_REPORT.filter(({ key }) => report.page[key]?.status === 'OK' && report.page[key].counts.length);
	const tools = el('span', { class: 'tools' }), body = el('div');
	const choice = el('div', { class: 'choice', role: 'group', 'aria-label': 'Which stacks' }, kinds.map((k) => el('button', { type: 'button', onclick: () => show(k) }, k.name)));
	const show = ({ key, name: chosen, about }) => {
		const data = report.page[key], graph = new Graph(data), left = data.left_out ? ` ${count(data.left_out)} colder functions are in their callers: jobprof flame has all.` : '';

		choice.querySelectorAll('button').forEach((b) => b.setAttribute('aria-pressed', b.textContent === chosen));
		tools.replaceChildren(finder(graph), ' ', whole(graph));
		body.replaceChildren(graph.said, graph.box, graph.rows, el('p', { class: 'words soft' }, `Source: Stacks, ${about}; a box is a function, below it are those that it called.${left}`));
		graph.draw();
	};

	if (!kinds.length)
		return null;
	const part = low(section('stacks', `Which functions ${kinds.map((k) => k.did).join(' or ')}`, tools, kinds.length > 1 ? choice : '', body));

	show(kinds[0]);
	return part;
}

// Which callers may be missing, and what to do then.
export function unwinding(data) {
	if (!data.unwound)
		return '';
	const missing = /^by frame pointers/.test(data.unwound) ? ' Where callers are missing: jobprof run --unwind dwarf, or StackUnwind=dwarf.' : '';

	return ` Stacks ${data.unwound}.${missing}`;
}

export function flame(data) {
	const graph = new Graph(data), what = data.off_cpu ? 'Blocked for 1 ms and more' : 'Running', last = data.labels.at(-1);
	const search = finder(graph);

	document.title = `${plain(data.title ?? last)}: ${what.toLowerCase()}`;
	document.addEventListener('keydown', (e) => {
		if (e.key === '/' && e.target !== search) {
			search.focus();
			e.preventDefault();
		}
	});
	document.body.append(el('header', {}, el('h1', {}, name(data.title ?? last)), el('p', { class: 'keys' }, el('kbd', {}, '/'), ' find ', el('kbd', {}, 'Esc'), ' all'),
		el('p', {}, data.labels.length > 1 ? ['red: more than in ', name(data.labels[0])] : 'time of its tasks\u2019 threads, by the functions that they were in')),
	el('main', {}, section('flame', what, el('span', { class: 'tools' }, search, ' ', interval(graph), ' ',
		whole(graph)), graph.said, graph.box, graph.rows)),
	el('footer', {}, name(`Made by jobprof flame of ${last}.${unwinding(data)}`, 600)));
	graph.draw();
	return graph;
}
