// SPDX-License-Identifier: GPL-2.0-or-later
// The I/O of all jobs of a site, in the figures of S. El Sayed et al. (PDSW-DISCS 2016): jobs by bytes and highest bandwidth, with
// both margins and cumulative shares, and the table of thresholds. A click on a cell or a bar lists its jobs.
import { el, low, name, section, soft } from './dom.js';
import { capital, count, mb, plural, share } from './format.js';
import { address, drawParts, few, filters, known, link, shell, site } from './site.js';
import { svg } from './spark.js';

const DIRECTIONS = [['read', 'Read', 'read', 'read-rate'], ['written', 'Written', 'written', 'write-rate']];
const MIB = 1048576;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

// 2^30 as "1GiB", as the options read it; 2^37 as "128GiB".
export const power = (i) => `${2 ** (i % 10)}${UNITS[Math.floor(i / 10)]}`;
export const rangeOf = (i) => `${power(i)}-${power(i + 1)}`;
const words = (i, rate = '') => `${power(i).replace(/(\d)([A-Z])/, '$1 $2')}${rate}`;

// Counts along one axis: the sum of the other one's. axis: 0 bytes, 1 bandwidth.
export function margin(cells, axis) {
	const out = [];

	for (const c of cells)
		out[c[axis]] = (out[c[axis]] ?? 0) + c[2];
	return Array.from(out, (n) => n ?? 0);
}

// The share of the jobs at or below each bin, from the first to the last.
export function cumulative(counts) {
	const all = counts.reduce((s, n) => s + n, 0);
	let sum = 0;

	return counts.map((n) => (sum += n) / all);
}

// The jobs of the page, as the verb selects them: an hour and more where no length was asked for.
const jobs = (args) => address('jobs', { since: '30d', ran: '1h-', ...site.arguments, all: null, ...args });

// Bins that both directions show, so that they can be compared.
function extent(planes, axis) {
	const at = Object.values(planes).flat().map((c) => c[axis]);

	return at.length ? [Math.min(...at), Math.max(...at) + 1] : [0, 1];
}

// Every 2^10; of few bins more.
function ticks([from, to], isUp) {
	const step = [10, 5, 2].find((n) => to - from >= 2 * n) ?? 1;

	return Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((i) => i % step === 0)
		.map((i) => el('span', { [isUp ? 'data-y' : 'data-x']: (i - from) / (to - from) }, words(i, isUp ? '/s' : '')));
}

const logarithm = (n) => Math.log10(1 + n);

// A bar for each bin, by the logarithm of its jobs, and the line of the cumulative share.
function marginOf(counts, [from, to], isUp, option, rate, title) {
	const some = counts.slice(from, to), sums = cumulative(some), top = Math.max(...some.map(logarithm)), n = to - from, at = sums.findIndex((s) => s >= 0.8);
	const line = sums.map((s, i) => `${i ? 'L' : 'M'}${isUp ? `${(100 * s).toFixed(1)} ${(100 - 100 * (i + 1) / n).toFixed(1)}` : `${(100 * (i + 1) / n).toFixed(1)} ${(100 - 100 * s).toFixed(1)}`}`).join('');
	const told = (i) => `${words(from + i, rate)} to ${words(from + i + 1, rate)}: ${plural(some[i], 'job')}; ${share(sums[i])} of all below ${words(from + i + 1, rate)}`;

	return el('div', { class: isUp ? 'mg side2' : 'mg', role: 'group', 'aria-label': title }, some.map((v, i) => (v ? el('a', { href: jobs({ [option]: rangeOf(from + i) }), title: told(i), 'aria-label': told(i), 'data-x': isUp ? 0 : i / n, 'data-y': isUp ? i / n : 0,
		'data-w': isUp ? logarithm(v) / top : 1 / n, 'data-h': isUp ? 1 / n : logarithm(v) / top }) : '')),
	svg('svg', { class: 'cum', viewBox: '0 0 100 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('path', { d: line })),
	at < 0 ? '' : el('span', { class: 2 * (at + 1) < n ? 'p80 early' : 'p80', [isUp ? 'data-y' : 'data-x']: (at + 1) / n }, el('span', {}, `80 % below ${words(from + at + 1, rate)}`)));
}

function plane(cells, x, y, [bytes, rate]) {
	const top = Math.max(...cells.map((c) => logarithm(c[2]))), wide = x[1] - x[0], high = y[1] - y[0];
	const told = ([i, k, n]) => `${words(i)} to ${words(i + 1)}, highest bandwidth ${words(k, '/s')} to ${words(k + 1, '/s')}: ${plural(n, 'job')}`;
	const links = cells.map((c, i) => el('a', { href: jobs({ [bytes]: rangeOf(c[0]), [rate]: rangeOf(c[1]) }), title: told(c), 'aria-label': told(c), tabindex: i ? -1 : 0,
		'data-x': (c[0] - x[0]) / wide, 'data-y': (c[1] - y[0]) / high, 'data-w': 1 / wide, 'data-h': 1 / high, 'data-v': Math.max(0.08, logarithm(c[2]) / top) }));
	const move = (e) => {
		const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key], at = links.indexOf(e.target);

		if (!by || at < 0)
			return;
		e.preventDefault();
		const next = nearest(cells, cells[at], by);

		if (next) {
			e.target.tabIndex = -1;
			links[cells.indexOf(next)].tabIndex = 0;
			links[cells.indexOf(next)].focus();
		}
	};

	return el('div', { class: 'pl', role: 'group', 'aria-label': 'Jobs by bytes and highest bandwidth; arrow keys go from cell to cell', onkeydown: move }, links);
}

// The next cell that has jobs in that direction, the straightest one first.
export function nearest(cells, from, [dx, dy]) {
	const ahead = cells.map((c) => ({ c, along: (c[0] - from[0]) * dx + (c[1] - from[1]) * dy, off: Math.abs((c[0] - from[0]) * dy) + Math.abs((c[1] - from[1]) * dx) })).filter((o) => o.along > 0);

	return ahead.sort((a, b) => a.along + 3 * a.off - b.along - 3 * b.off)[0]?.c;
}

// Which jobs these are, where short ones are left out.
function ofLength(d) {
	const h = d.least_s / 3600;

	return h > 0 ? ` of ${h === 1 ? 'an hour' : `${few(h)} h`} and more` : '';
}

function figure(d, [key, title, bytes, rate], i) {
	const cells = d.planes[key], x = extent(d.planes, 0), y = extent(d.planes, 1), n = cells.reduce((s, c) => s + c[2], 0), all = d.moved[i].jobs;

	if (!n)
		return el('section', {}, el('h2', {}, title), el('p', { class: 'none' }, `No job${ofLength(d)} of this choice has known I/O of this kind. `, d.least_s > 0 ? link('io', { ...site.arguments, ran: '0s-' }, 'Jobs of any length') : ''));
	return el('section', { 'aria-label': title }, el('div', { class: 'head' }, el('h2', {}, title), soft(`${n < all ? `${count(n)} of ${plural(all, 'job')}, those of 1 B/s and more` : plural(n, 'job')}; bars and shades by logarithm`)),
		el('div', { class: 'io' }, marginOf(margin(cells, 0), x, false, bytes, '', `${title}: jobs by bytes`), el('div', { class: 'ioy' }, ticks(y, true)), plane(cells, x, y, [bytes, rate]),
			marginOf(margin(cells, 1), y, true, rate, '/s', `${title}: jobs by highest bandwidth`), el('div', { class: 'iox' }, ticks(x, false))),
		el('p', { class: 'small' }, 'Across: bytes; up: highest bandwidth of all nodes together, a second. Lines at the margins: share of the jobs up to there.'));
}

// ---- tables

// In the units of the axes and of --read.
export const volume = (bytes) => (known(bytes) ? mb(bytes / MIB) : '?');

// Heads: [what it says, key of the JSON's rows], of which those in bytes are named.
const BYTES = /^(p50|p80|p95|most|sum|bw_p80|bw_most)$/;
const head = (heads) => el('thead', {}, el('tr', {}, heads.map(([t, key], i) => el('th', { scope: 'col', class: i ? null : 'l', 'data-key': key, 'data-unit': BYTES.test(key) ? 'bytes' : null }, t))));
const body = (rows) => el('tbody', {}, rows.map((r) => el('tr', {}, r.map((c, i) => el(i ? 'td' : 'th', { scope: i ? null : 'row', class: i ? null : 'l' }, c)))));
const plain = (label, heads, rows) => el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': `Table: ${label}` }, el('table', { class: 'g' }, head(heads), body(rows)));
const two = (v) => (known(v) ? v.toFixed(2) : '?');
const top = (v) => (known(v) ? share(v) : '\u2013');

const QUANTILES = [['50 %', 'p50'], ['80 %', 'p80'], ['95 %', 'p95'], ['Most', 'most'], ['All', 'sum']];

const moved = (d) => low(section('moved', 'How much, how fast', '80 % of the jobs are at or below the value of that column; top 20 %: the share of all bytes that the 20 % of the jobs with most bytes move',
	plain('How much, how fast', [['Quantity', 'quantity'], ['Jobs', 'jobs'], ...QUANTILES, ['Top 20 %', 'top_share']], d.moved.map((r) => { const s = r.unit === 'B/s' ? '/s' : ''; return [capital(r.quantity), count(r.jobs), ...[r.p50, r.p80, r.p95, r.most].map((v) => (known(v) ? `${volume(v)}${s}` : '?')), s ? '\u2013' : volume(r.sum), top(r.top_share)]; }))));

const usual = (d) => low(section('usual', 'Intensity, burstiness, parallel intensity', '80 % of the jobs are at or below; a node counts in an interval in which it moves more than the threshold',
	plain('At thresholds', [['Quantity', 'quantity'], ['0 B', 'c0'], ['128 KiB', 'c128k'], ['1 MiB', 'c1m']], d.usual.map((r) => [r.quantity, two(r.c0), two(r.c128k), two(r.c1m)]))));

const systems = (d) => (d.file_systems.length ? low(section('fs', 'Of each network file system', 'from jobs with nodes of their own: elsewhere nobody knows whose bytes these are', plain('Of each network file system', [['File system', 'file_system'], ['Moved', 'quantity'], ['Jobs', 'jobs'], ...QUANTILES, ['% of all', 'of_all'], ['Top 20 %', 'top_share'], ['80 % of rates', 'bw_p80'], ['Highest', 'bw_most']],
	d.file_systems.map((r) => [name(r.file_system, 40), r.quantity, count(r.jobs), volume(r.p50), volume(r.p80), volume(r.p95), volume(r.most), volume(r.sum), top(r.of_all), top(r.top_share), known(r.bw_p80) ? `${volume(r.bw_p80)}/s` : '?', known(r.bw_most) ? `${volume(r.bw_most)}/s` : '?'])))) : null);

function sentence(d) {
	const [r, w] = d.moved, n = Math.max(r.jobs, w.jobs);

	return n ? [el('b', {}, plural(n, 'job')), ofLength(d), ' read ', el('b', {}, volume(r.sum)), ' and wrote ', el('b', {}, volume(w.sum)), r.top_share ? `; the 20 % that read most read ${share(r.top_share)} of it` : '', w.top_share ? `, those that wrote most wrote ${share(w.top_share)}` : '',
		d.without_profile > 0 ? `; of ${share(d.without_profile)} of what these jobs held nobody knows` : ''] : `No job${ofLength(d)} of this choice has known I/O.`;
}

function place(e) {
	for (const c of e.querySelectorAll('[data-x], [data-y], [data-w]'))
		for (const k of ['x', 'y', 'w', 'h'])
			if (c.dataset[k] !== undefined)
				c.style.setProperty(`--${k}`, `${100 * Number(c.dataset[k])}%`);
}

export function io({ io: d }) {
	shell('I/O of the site', sentence(d), filters('30d'), el('div', { class: 'two' }, DIRECTIONS.map((of, i) => figure(d, of, i))), moved(d), usual(d), systems(d));
	place(document.body);
	drawParts(document.body);
	return { io: d };
}
