// SPDX-License-Identifier: GPL-2.0-or-later
// Kinds of bursts of computation: a part of the page of report, and the page of `jobprof cluster --html`.
import { axis } from './axis.js';
import { Clock } from './clock.js';
import { canvas, colour, colourOf, el, grid, low, name, section, table } from './dom.js';
import { count, plain, plural, share, time } from './format.js';
import { paper } from './paper.js';
import { scatter } from './scatter.js';
import { View } from './view.js';

const MOST = 12;
const fine = (text) => el('th', { scope: 'col', class: 'fine' }, text);

// isPage: all kinds with their colours, and all that is known of them.
export function clusters(report, isPage = false) {
	const c = report.clusters ?? {}, all = c.clusters ?? [], [noise, ...kinds] = all, most = isPage ? all.length : MOST;

	if (c.status !== 'OK' || (!kinds.length && !c.hint))
		return null;
	const bar = (v) => {
		const i = el('i');

		i.style.width = `${100 * Math.min(1, v ?? 0)}%`;
		return el('td', { class: 'dist' }, el('div', { class: 'bar', 'aria-hidden': 'true' }, i));
	};
	const swatch = (k) => {
		const i = el('i', { class: 'sw' });

		i.style.background = `var(${k === noise ? '--band' : `--c${kinds.indexOf(k) % 8}`})`;
		return isPage ? i : '';
	};
	const named = all.some((k) => k.most_samples);
	const code = (m) => (m ? `${share(m.samples / m.of)} ${m.name}` : '');
	const shown = [...kinds.slice(0, most), noise].filter((k) => k.bursts > 0);
	const from = c.from === 'stored' ? `by jobprof reduce, of all files${c.windows > 1 ? `; the last of ${c.windows} windows` : ''}` : `of ${count(c.bursts)} bursts of 1 ms and more`;
	const head = ['kind', 'bursts', 'of the run time', el('td', { class: 'dist' }), 'run time', fine('least'), fine('most'), ...(isPage ? [fine('spread')] : []), 'blocked before', ...(isPage ? [fine('on CPU')] : []),
		...(named ? [el('th', { scope: 'col', class: 'say' }, 'samples, most in')] : [])];
	const cells = (k) => [[swatch(k), name(k.name, 12)], el('td', { 'data-bursts': k.name }, count(k.bursts)), share(k.share), bar(k.share), time(k.run_s),
		...['least_run_s', 'most_run_s'].map((key) => el('td', { class: 'fine' }, time(k[key]))), ...(isPage ? [el('td', { class: 'fine' }, k === noise ? '' : share(k.spread))] : []),
		k.gap_s === null ? 'none' : time(k.gap_s), ...(isPage ? [el('td', { class: 'fine' }, share(k.on_cpu))] : []), ...(named ? [el('td', { class: 'say' }, code(k.most_samples))] : [])];

	return low(section('clusters', 'Kinds of bursts', from, grid(head, shown.map(cells), 'tm', 'Table: kinds of bursts'),
		...(c.hint ? [el('p', { class: 'words' }, `${c.hint}.`)] : []),
		el('p', { class: 'words soft' }, `A burst is what a thread computes between two waits; those of a kind take about as long, after waits that are about as long (${c.from === 'stored' ? 'means' : 'medians'}). Noise are those of no kind.`,
			kinds.length > most ? ` ${plural(kinds.length - most, 'more kind')}: --json` : '')));
}

// ---- the page

const letters = (from) => Array.from({ length: 26 }, (_, i) => String.fromCharCode(from.charCodeAt(0) + i)).join('');
const LETTERS = `.${letters('A')}${letters('a')}`; // of a line over time: noise and 52 kinds

// A line per task: which kind had most of its time, from the first burst on.
function lines(c, redraws) {
	const all = c.lines, end = all[0]?.to_s, view = new View(end), clock = new Clock({ job: {}, page: { lines: { end_s: end, dt_s: end / 200 } } });

	if (!(end > 0))
		return null;
	const strip = (l) => {
		const s = canvas(`${l.of}: its kinds of bursts over time`, (g, w, h) => [...l.line].forEach((letter, i) => {
			const k = LETTERS.indexOf(letter), x = Math.round(i / l.line.length * w);

			if (letter === ' ')
				return;
			g.fillStyle = k > 0 ? colourOf(k - 1) : colour('--band');
			g.fillRect(x, 0, Math.round((i + 1) / l.line.length * w) - x, h);
		}));

		redraws.push(s.redraw);
		return [el('span', {}, name(l.of, 24)), s];
	};
	const most = (l) => Object.entries([...l.line].reduce((n, k) => ({ ...n, [k]: (n[k] ?? 0) + 1 }), {})).filter(([k]) => k !== ' ').sort(([, a], [, b]) => b - a)
		.map(([k, n]) => `${k === '.' ? 'noise' : k} ${share(n / l.line.length)}`).join(', ');

	redraws.push(() => view.show());
	return low(section('lines', 'Over time', 'the kind with most run time', el('div', { class: 'strips' }, all.map(strip), el('span'), axis(view, clock)),
		c.places > all.length ? el('p', { class: 'words soft' }, `${plural(c.places - all.length, 'more line')}: --json`) : '',
		table('Table: kinds over time', ['of', 'of the time'], () => all.map((l) => [name(l.of, 40), most(l)]), 'Source: Bursts, as jobprof cluster --json has it.')));
}

export function bursts(c) {
	const plane = { ...c.plane, kinds: c.clusters.map((k) => k.name) }, { part, redraw } = scatter(plane), redraws = [redraw];
	const by = `${c.plane.x_axis.name} and ${c.plane.y_axis.name}`, drawn = c.plane.of.length, kinds = c.clusters.length - 1;
	const draw = () => redraws.forEach((f) => f());
	const notes = [drawn < c.plane.shown ? `${count(drawn)} of ${count(c.plane.shown)} are drawn` : `each of ${count(drawn)} is a point`, ...(c.plane.undrawn ? [`${count(c.plane.undrawn)} without a known gap are not drawn`] : [])];

	document.title = plain(`${c.title}: kinds of bursts`).slice(0, 200);
	document.body.append(el('header', {}, el('h1', {}, 'Kinds of bursts ', el('code', {}, name(c.title, 120))), el('p', { class: 'st' }, plural(kinds, 'cluster')),
		el('p', { class: 'about' }, `${plural(c.bursts, 'long burst')} of ${plural(c.threads, 'thread')}, clustered by ${c.by.join(' and ')} (DBSCAN: ${c.min_pts} within ${Number(c.eps.toPrecision(3))})`, c.paused ? [' \u00b7 ', name(c.paused, 300)] : '')),
	el('main', {}, section('plane', `Bursts by ${by}`, notes.join('; '), part), clusters({ clusters: c }, true), lines(c, redraws)),
	el('footer', {}, `jobprof ${c.version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof cluster --json')));
	paper(draw);
	addEventListener('resize', draw);
	draw();
	return { bursts: c };
}
