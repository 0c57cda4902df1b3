// SPDX-License-Identifier: GPL-2.0-or-later
// The page of all nodes: is the machine well used, which nodes are unlike the others, what is different from last week.
import { axis } from './axis.js';
import { Clock } from './clock.js';
import { canvas, colour, el, low, name, section, soft } from './dom.js';
import { cores, count, day, energy, mb, number, plain, plural, power, share, spoken } from './format.js';
import { labelsOf, levelOf, paint, rampOf, rowAt, rowsOf } from './nodemap.js';
import { paper } from './paper.js';
import { address, below, cells, drawParts, few, known, link, shell, table } from './site.js';
import { View } from './view.js';
import { wordsOf } from './words.js';

const QUANTITIES = [
	{ key: 'busy', name: 'CPU busy', base: '--s0' },
	{ key: 'wait', name: 'Wait for CPU', base: '--s3' },
	{ key: 'memory', name: 'Memory', base: '--ink' },
	{ key: 'power', name: 'Power', base: '--ink' },
];

const textOf = (unit, v) => (unit === 'W' ? power(v) : share(v));
const long = (s) => (s === 3600 ? 'an hour' : s >= 172800 ? `${Math.round(s / 86400)} days` : s % 3600 === 0 ? `${s / 3600} hours` : spoken(s));
const minus = (text) => text.replace('-', '\u2212');

// ---- the map of nodes and hours

// What a cell says in words.
function said(d, q, node, step) {
	const { value, word } = levelOf(d.heat, q.key, node * d.steps + step);

	return word ?? textOf(d.heat[q.key].unit, value);
}

function legendOf(d, q, codes) {
	const ramp = canvas('', (g, w, h) => {
		const of = rampOf(q.base);

		for (let x = 0; x < w; x++) {
			g.fillStyle = `rgb(${of(x / w)})`;
			g.fillRect(x, 0, 1, h);
		}
	}, { class: 'ramp', role: null, 'aria-hidden': 'true' });

	return { redraw: ramp.redraw, parts: [el('span', {}, '0 ', ramp, ` ${textOf(d.heat[q.key].unit, d.heat[q.key].top)}`), codes.map((c) => el('span', {}, el('i', { class: `sw ${c.style}` }), c.word))] };
}

function cellText(d, rows, at, kinds, clock) {
	const r = rows[at.row], [first] = r.nodes, n = r.nodes.length;

	return [el('b', {}, link('node', { node: d.nodes[first].node, cluster: d.nodes[first].cluster }, name(d.nodes[first].node, 30))), n > 1 ? soft(` and ${plural(n - 1, 'more')}`) : '', ` ${clock.text(at.step * d.step_s)} `,
		kinds.map((q) => [' ', soft(`${q.name.toLowerCase()} `), said(d, q, first, at.step)])];
}

// Where the pointer is, or the keys went: {row, step}; a mouse's click and Enter open the node, a finger chooses first.
function choosing(plot, d, rows, show) {
	let at = null;
	const open = () => { location.href = address('node', (({ node, cluster }) => ({ node, cluster }))(d.nodes[rows[at.row].nodes[0]])); };
	const under = (e) => {
		const box = plot.getBoundingClientRect();

		at = { row: rowAt(rows, e.clientY - box.top), step: Math.min(d.steps - 1, Math.max(0, Math.floor((e.clientX - box.left) / box.width * d.steps))) };
		show(at);
	};

	plot.addEventListener('pointermove', under);
	plot.addEventListener('pointerleave', (e) => e.pointerType === 'mouse' && document.activeElement !== plot && show(at = null));
	plot.addEventListener('click', (e) => {
		under(e);
		if (e.pointerType === 'mouse')
			open();
	});
	plot.addEventListener('keydown', (e) => {
		const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key], far = e.shiftKey ? 10 : 1;

		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (by) {
			at = at ? { row: Math.min(rows.length - 1, Math.max(0, at.row + far * by[0])), step: Math.min(d.steps - 1, Math.max(0, at.step + by[1] * (e.shiftKey ? 24 : 1))) } : { row: 0, step: d.steps - 1 };
			show(at);
			e.preventDefault();
		} else if (e.key === 'Enter' && at) {
			open();
		} else if (e.key === 'Escape') {
			show(at = null);
		}
	});
}

// What the map has from above, where the rows are of several kinds.
const sizeOf = (k) => [known(k.cores) ? plural(k.cores, 'core') : '', known(k.memory_mb) ? mb(k.memory_mb) : ''].filter(Boolean).join(', ');
export const kindsOf = (d) => (d.kinds.length > 1 ? `From above: ${d.kinds.map((k, i) => `${plural(d.nodes.filter((n) => n.kind === i).length, 'node')} of ${k.model ? plain(k.model) : 'a kind that is not known'}${sizeOf(k) ? ` (${sizeOf(k)})` : ''}`).join('; ')}. ` : '');

function map(d, redraws) {
	const kinds = QUANTITIES.filter((q) => d.heat[q.key]?.bytes?.length), rows = rowsOf(d), height = rows.at(-1).y + rows.at(-1).h, [first] = rows;
	const end = d.steps * d.step_s, view = new View(end), clock = new Clock({ job: { start: d.from }, facts: {}, page: { lines: { end_s: end, dt_s: d.step_s } } });
	const asked = location.hash.slice(1), tip = el('p', { class: 'tip small', 'aria-live': 'polite' }), legend = el('div', { class: 'legend' }), box = el('i', { class: 'cell' });
	let q = kinds.find((k) => k.key === asked) ?? kinds[0], codes = [], chosen = null;
	const c = canvas('', (g, w) => { codes = paint(c, d, rows, q, w, height); }, { class: 'map', role: null, 'aria-hidden': 'true' });
	const plot = el('div', { class: 'plot nodemap', tabindex: 0, role: 'group', 'aria-label': `${plural(d.nodes.length, 'node')} by ${plural(d.steps, 'hour')}; the arrow keys choose a cell, Enter opens its node; the table below has the same` }, c, box);
	const show = (at) => {
		chosen = at;
		box.style.display = at ? 'block' : 'none';
		if (at) {
			Object.entries({ left: `${100 * at.step / d.steps}%`, width: `${100 / d.steps}%`, top: `${rows[at.row].y}px`, height: `${Math.max(2, rows[at.row].h)}px` }).forEach(([k, v]) => { box.style[k] = v; });
			tip.replaceChildren(...cellText(d, rows, at, kinds, clock).flat(3));
		} else {
			tip.replaceChildren(d.heat[q.key].about ?? '');
		}
		view.move(at ? (at.step + 0.5) * d.step_s : NaN);
	};
	const redraw = () => {
		c.redraw();
		const l = legendOf(d, q, codes);

		legend.replaceChildren(...l.parts.flat());
		l.redraw();
	};
	const buttons = el('div', { class: 'choice', role: 'group', 'aria-label': 'What the colours say' }, kinds.map((k, i) => el('button', { type: 'button', 'aria-pressed': String(k === q), title: `key ${i + 1}`, onclick: () => pick(k) }, k.name)));

	function pick(k) {
		q = k;
		kinds.forEach((one, i) => buttons.children[i].setAttribute('aria-pressed', String(one === k)));
		history.replaceState(null, '', `${location.search}#${k.key}`);
		redraw();
		show(chosen);
	}
	document.addEventListener('keydown', (e) => {
		const k = kinds[Number(e.key) - 1];

		if (k && !e.ctrlKey && !e.metaKey && !e.altKey && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName))
			pick(k);
	});
	choosing(plot, d, rows, show);
	plot.style.height = `${height}px`;
	redraws.push(redraw, () => view.show());
	new ResizeObserver(redraw).observe(plot);
	show(null);
	return section('heat', `Nodes over ${long(end)}`, legend, el('div', { class: 'bar2 stick' }, buttons, tip),
		el('div', { class: 'tl sysmap' }, labelsOf(d, rows, height), plot, el('span'), el('span'), axis(view, clock), el('span')),
		el('p', { class: 'soft small' }, `A row is ${first.nodes.length > 1 ? `${first.nodes.length} nodes` : 'a node'}, a column ${long(d.step_s)}. ${kindsOf(d)}Whether a node was up is not known here: one without a job may be down, sinfo has its state. `, el('span', { class: 'keyed' }, 'A click opens the node; keys ', el('kbd', {}, '1'), ' to ', el('kbd', {}, String(kinds.length)), ' choose the quantity, arrows a cell.')), behind(d, kinds));
}

// ---- the same as a table

function meanOf(d, q, node) {
	let sum = 0, n = 0;

	for (let k = 0; k < d.steps; k++) {
		const { value } = levelOf(d.heat, q.key, node * d.steps + k);

		if (known(value)) {
			sum += value;
			n++;
		}
	}
	return n ? sum / n : null;
}

const steps = (d, node, word) => Array.from({ length: d.steps }, (_, k) => levelOf(d.heat, 'busy', node * d.steps + k).word).filter((w) => w === word).length * d.step_s;

function behind(d, kinds) {
	const columns = [{ key: 'node', head: 'Node', left: true, fixed: true, kind: (r) => link('node', { node: r.node, cluster: r.cluster }, name(r.node, 40)) }, { key: 'kind', head: 'Kind', left: true, fixed: true, kind: (r) => name(d.kinds[r.kind]?.model ?? '?', 40) },
		...kinds.map((q) => ({ key: q.key, head: q.name, unit: d.heat[q.key].unit === 'W' ? 'W' : '%', fixed: true, kind: d.heat[q.key].unit === 'W' ? 'number' : 'part' })),
		{ key: 'idle', head: 'No job', unit: 'hours', fixed: true, kind: (r) => count(r.idle / 3600) }, { key: 'unknown', head: 'Not known', unit: 'hours', fixed: true, kind: (r) => count(r.unknown / 3600) }];
	const inside = el('div'), details = el('details', {}, el('summary', {}, 'Table: means of each node'), inside);

	details.addEventListener('toggle', () => {
		if (!details.open || inside.childNodes.length)
			return;
		inside.append(below('Means of each node', { table: 'means' }), table('Means of each node', columns, d.nodes.map((n, i) => ({ ...n, ...Object.fromEntries(kinds.map((q) => [q.key, meanOf(d, q, i)])), idle: steps(d, i, 'no job'), unknown: steps(d, i, 'not known') }))));
	});
	return details;
}

// ---- beside it

const small = (label, columns, rows, of) => {
	const some = columns.filter((c) => !c.has || rows.some(c.has));

	return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': `Table: ${label}` }, el('table', { class: 'g mini' }, el('thead', {}, el('tr', {}, some.map((c) => el('th', { scope: 'col', 'data-key': c.key ?? null, class: c.left ? 'l' : null, title: c.about ?? null }, c.head)))),
		el('tbody', {}, rows.map((r) => el('tr', {}, some.map((c, i) => el(i ? 'td' : 'th', { scope: i ? null : 'row', class: [c.left ? 'l' : '', c.wrap ? 'w' : ''].join(' ').trim() || null }, c.cell(r))))))), below(label, { table: of }));
};

const date = (s) => new Date(s * 1000).toLocaleDateString('en', { month: 'short', day: 'numeric' });

// Names of the jobs that it had most often.
export const seenIn = (r) => (r.seen_in.length ? r.seen_in.map((j, i) => [i ? ', ' : '', name(j.name || '?', 24), j.runs > 1 ? soft(` ${count(j.runs)}\u00d7`) : '']) : '\u2013');

function slow(d) {
	const percent = (r) => (known(r.speed) ? minus(`${(100 * r.speed - 100).toFixed(0)} %`) : '?');

	return section('slow', 'Slow or failing nodes', 'speed: work per CPU-second against their kind', d.slow.length ? small('slow or failing nodes', [
		{ key: 'node', head: 'Node', left: true, cell: (r) => link('node', { node: r.node, cluster: r.cluster, since: '7d' }, r.is_certain ? el('b', {}, name(r.node, 24)) : name(r.node, 24)) },
		{ head: 'Speed', cell: (r) => (r.is_certain ? el('b', {}, percent(r)) : soft(percent(r))), about: 'against the median of the same programs on other nodes of its kind' },
		{ key: 'runs', head: 'Runs', cell: (r) => count(r.runs), about: 'jobs that were compared' },
		{ head: 'Most runs of', left: true, wrap: true, about: 'names of the jobs that were there most often', cell: (r) => [known(r.speed) && !r.is_certain ? soft('not certain: ') : '', seenIn(r), known(r.since) ? soft(`, since ${date(r.since)}`) : ''] },
		{ key: 'node_fails', head: 'Node fails', cell: (r) => count(r.node_fails), has: (r) => r.node_fails > 0 },
		{ key: 'lost_core_s', head: 'Lost', cell: (r) => (known(r.lost_core_s) ? cores(r.lost_core_s) : soft('?')), about: 'that jobs lost by it' },
	], d.slow, 'slow') : el('p', { class: 'soft words' }, d.nodes.length ? 'None is known. That a node is slow takes 15 runs on it, of programs that ran on others of its kind, too.' : 'Not known: there are no runs to compare.'));
}

const AMOUNTS = { 'core-s': cores, J: energy, s: spoken, share, W: power };
const amount = (r, v) => (known(v) ? (AMOUNTS[r.unit] ?? number)(v) : '?');

export function difference(r) {
	const v = r.change;

	if (!known(v))
		return soft('not known');
	const a = Math.abs(v), sign = v > 0 ? '+' : v < 0 ? '\u2212' : '', text = r.unit === 'share' ? `${sign}${(100 * a).toFixed(100 * a < 9.95 ? 1 : 0)} points` : r.unit === 's' ? `${sign}${spoken(a)}` : r.unit === 'jobs' ? `${sign}${count(a)}` : `${sign}${share(a)}`;

	return r.verdict === 'worse' ? el('b', { class: 'warn c' }, `${text} worse`) : r.verdict === 'better' ? `${text} better` : soft(text);
}

// "cpu.serial +5 core-h, project p1 -3 core-h": rules as words, signs as elsewhere.
export const because = (why) => why.replace(/(^|, )([a-z]+\.[a-z_]+)(?= [+-])/g, (_, before, rule) => before + wordsOf(rule)).replace(/ -(?=[\d<.])/g, ' \u2212');

function changed(d) {
	return section('changed', 'What changed', 'against as long a time before', el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Table: what changed' }, el('table', { class: 'g mini' },
		el('thead', {}, el('tr', {}, [['words', ''], ['now', 'now'], ['before', 'before'], ['', 'change']].map(([key, h]) => el(h ? 'th' : 'td', { scope: h ? 'col' : null, 'data-key': key }, h)))),
		el('tbody', {}, d.changed.map((r) => [el('tr', {}, el('th', { scope: 'row', class: 'l w' }, r.words), el('td', {}, el('b', {}, amount(r, r.now))), el('td', {}, amount(r, r.before)), el('td', {}, difference(r))),
			r.why ? el('tr', { class: 'because' }, el('td', { class: 'l w soft', colspan: 4 }, name(because(r.why), 200))) : ''])))), below('What changed', { table: 'changed' }));
}

function partitions(d) {
	const has = (key) => (r) => known(r[key]), cell = (key, kind) => (r) => cells[kind](r[key]);

	return d.partitions?.length ? section('partitions', 'Running and waiting', d.partitions.some((r) => known(r.running)) ? link('running', {}, 'live') : 'by partition', small('partitions', [
		{ key: 'partition', head: 'Partition', left: true, cell: (r) => (r.partition ? link(known(r.running) ? 'running' : 'jobs', { partition: r.partition, since: known(r.running) ? null : '24h' }, name(r.partition, 24)) : soft('not known')) },
		{ key: 'running', head: 'Run', cell: cell('running', 'count'), has: has('running') }, { key: 'running_cores', head: 'Cores', cell: cell('running_cores', 'count'), has: has('running_cores'), about: 'of those that run' },
		{ key: 'losing', head: 'Lose', cell: cell('losing', 'count'), has: has('losing'), about: 'of those that run: 1 core-hour an hour or more, or memory will be full' }, { key: 'losing_cores', head: 'Core-h/h', cell: cell('losing_cores', 'number'), has: has('losing_cores'), about: 'core-hours that those that run lose in an hour' },
		{ key: 'waiting', head: 'Wait', cell: cell('waiting', 'count'), has: has('waiting') }, { key: 'started_24h', head: 'Began', cell: (r) => (r.partition && r.started_24h ? link('jobs', { partition: r.partition, since: '24h' }, count(r.started_24h)) : cells.count(r.started_24h)), about: 'in 24 hours' },
		{ key: 'queue_median_s', head: 'Median wait', cell: (r) => spoken(r.queue_median_s), about: 'in the queue, of the jobs that began in the last 24 hours' }], d.partitions, 'partitions')) : null;
}

function spark(values, redraws) {
	const top = Math.max(1, ...values.filter(known)), c = canvas('Power by the hour', (g, w, h) => {
		const wide = w / values.length;

		g.clearRect(0, 0, w, h);
		g.fillStyle = colour('--soft');
		values.forEach((v, i) => known(v) && g.fillRect(i * wide, h - h * v / top, Math.max(1, wide - 1), h * v / top));
	}, { class: 'powers' });

	redraws.push(c.redraw);
	return el('p', { class: 'soft small' }, c, ` power by the hour, up to ${power(top)}`);
}

function energies(d, redraws) {
	const e = d.energy;

	if (!e || !known(e.all_j ?? e.jobs_j))
		return section('energy', 'Energy', '', el('p', { class: 'soft words' }, 'Not known: no energy sensor of a node was read. ', el('code', {}, 'jobprof sensors'), ' on a node says what it looked for.'));
	const parts = [known(e.idle_j) ? `${energy(e.idle_j)} in idle cores` : '', known(e.no_owner_j) ? `${energy(e.no_owner_j)} of no job` : '', known(e.money) ? `${few(e.money)} ${e.currency ?? ''}` : '', known(e.co2_kg) ? `${few(e.co2_kg)} kg CO\u2082` : ''].filter(Boolean);

	return section('energy', 'Energy', `since ${day(e.from).slice(5)}${known(e.known_node_hours) ? `, of ${few(e.known_node_hours)} node-hours with sensors` : ''}`,
		el('p', { class: 'words' }, el('b', { class: 'big' }, energy(e.all_j ?? e.jobs_j)), ' ', soft(known(e.jobs_low_j) ? `jobs ${energy(e.jobs_j)}, by the sensors\u2019 bounds ${energy(e.jobs_low_j)} to ${energy(e.jobs_high_j)}` : `jobs ${energy(e.jobs_j)}`, known(e.yesterday_j) ? `; the day before ${energy(e.yesterday_j)} in all${known(e.yesterday_known_node_hours) ? `, of ${few(e.yesterday_known_node_hours)} node-hours` : ''}` : '')),
		parts.length ? el('p', { class: 'small' }, `${parts.join(', ')}.`) : '', e.power_w?.some(known) ? spark(e.power_w, redraws) : '');
}

// ---- the page

function answer(d) {
	if (!d.nodes.length)
		return el('b', {}, 'No node is known in this time');
	const n = d.last ?? {}, of = (key) => (d.partitions ?? []).map((p) => p[key]).filter(known), running = of('running'), lost = of('losing_cores').reduce((a, v) => a + v, 0), uncertain = d.slow.filter((s) => s.is_certain).length;

	return [el('b', {}, known(n.busy_share) ? `${share(n.busy_share)} of ${known(n.cores) ? `${count(n.cores)} cores` : 'the cores'} busy` : 'It is not known how busy it is'), known(n.at) ? ` in the hour from ${day(n.at).slice(5)}` : '', known(n.known_nodes) ? ` \u00b7 ${count(n.known_nodes)} of ${plural(n.nodes, 'node')} had jobs whose profiles are there` : '',
		running.length ? [` \u00b7 ${plural(running.reduce((a, v) => a + v, 0), 'job')} run`, lost > 0 ? `, which lose ${few(lost)} core-h an hour` : ''] : '', uncertain ? [' \u00b7 ', el('b', {}, `${plural(uncertain, 'node')} slow`)] : '', known(n.power_w) ? ` \u00b7 ${power(n.power_w)}` : ' \u00b7 power not known'];
}

export function nodes({ nodes: d }) {
	const redraws = [], redraw = () => redraws.forEach((f) => f());
	const has = d.nodes.length && d.steps && QUANTITIES.some((q) => d.heat[q.key]?.bytes?.length);

	shell(['System', d.cluster ? [' ', el('code', {}, name(d.cluster, 40))] : ''], answer(d), el('div', { class: 'sys' },
		has ? map(d, redraws) : section('heat', 'Nodes', '', el('p', { class: 'none' }, 'No node is known in this time: rows of nodes come from profiles. ', el('code', {}, 'jobprof index scan'), ' reads them.')),
		el('div', {}, slow(d), d.changed?.length ? low(changed(d)) : null, low(partitions(d)), low(energies(d, redraws)))));
	drawParts(document.body);
	paper(redraw);
	redraw();
	return { nodes: d };
}
