// SPDX-License-Identifier: GPL-2.0-only
// Kinds of bursts of computation, and the region that was folded: its curve over one execution, and its phases.
import { canvas, colour, el, name, section, soft, table } from './dom.js';
import { count, number, plural, share, time } from './format.js';

function low(part) {
	part.classList.add('low');
	return part;
}

function rows(head, lines) {
	return el('div', { class: 'wide' }, el('table', { class: 'rk tm' },
		el('thead', {}, el('tr', {}, head.map((h) => (h instanceof Element ? h : h ? el('th', { scope: 'col' }, h) : el('td', { class: 'dist' }))))),
		el('tbody', {}, lines.map(([first, ...cells]) => el('tr', {}, el('th', { scope: 'row' }, first), cells.map((c) => (c instanceof Element && c.tagName === 'TD' ? c : el('td', {}, c))))))));
}

const MOST = 12;

export function clusters(report) {
	const c = report.clusters ?? {}, all = c.clusters ?? [], [noise, ...kinds] = all;

	if (c.status !== 'OK' || (!kinds.length && !c.hint))
		return null;
	const bar = (v) => {
		const i = el('i');

		i.style.width = `${100 * Math.min(1, v ?? 0)}%`;
		return el('td', { class: 'dist' }, el('div', { class: 'bar', 'aria-hidden': 'true' }, i));
	};
	const named = all.some((k) => k.most_samples);
	const code = (m) => (m ? `${share(m.samples / m.of)} ${m.name}` : '');
	const shown = [...kinds.slice(0, MOST), noise].filter((k) => k.bursts > 0);
	const from = c.from === 'stored' ? `by jobprof reduce, of all files${c.windows > 1 ? `; the last of ${c.windows} windows` : ''}` : `of ${count(c.bursts)} bursts of 1 ms and more`;

	return low(section('clusters', 'Kinds of bursts', from,
		rows(['kind', 'bursts', 'of the run time', '', 'run time', el('th', { scope: 'col', class: 'fine' }, 'least'), el('th', { scope: 'col', class: 'fine' }, 'most'), 'blocked before', ...(named ? [el('th', { scope: 'col', class: 'say' }, 'samples, most in')] : [])], shown.map((k) => [name(k.name, 12), el('td', { 'data-bursts': k.name }, count(k.bursts)),
			share(k.share), bar(k.share), time(k.run_s), el('td', { class: 'fine' }, time(k.least_run_s)), el('td', { class: 'fine' }, time(k.most_run_s)), time(k.gap_s), ...(named ? [el('td', { class: 'say' }, code(k.most_samples))] : [])])),
		...(c.hint ? [el('p', { class: 'words' }, `${c.hint}.`)] : []),
		el('p', { class: 'words soft' }, `A burst is what a thread computes between two waits; those of a kind take about as long, after waits that are about as long (${c.from === 'stored' ? 'means' : 'medians'}). Noise are those of no kind.`,
			kinds.length > MOST ? ` ${plural(kinds.length - MOST, 'more kind')}: --json` : '')));
}

const COUNTERS = { CPUTime: ['CPUs', (v) => number(v)], PageFaults: ['page faults/s', (v) => count(v)] };
const HEIGHT = 90;
const known = (v) => v !== null && v !== undefined;

// A rate along one execution: the line, and where its phases begin.
function curve(of, phases, label) {
	const v = of.rate.filter(known), most = Math.max(...v, 1e-12) * 1.05, end = of.rate.length - 1;
	const c = canvas(label, (g, w, h) => {
		g.strokeStyle = colour('--line');
		for (const p of phases.slice(1)) {
			g.beginPath();
			g.moveTo(p.from * w, 0);
			g.lineTo(p.from * w, h);
			g.stroke();
		}
		g.strokeStyle = colour('--ink');
		g.lineWidth = 1.5;
		g.beginPath();
		of.rate.forEach((y, i) => {
			if (known(y))
				g[i && known(of.rate[i - 1]) ? 'lineTo' : 'moveTo'](i / end * w, h - Math.max(0, y) / most * h);
		});
		g.stroke();
	}, { class: 'curve' });

	c.style.height = `${HEIGHT}px`;
	return [c, most / 1.05];
}

export function fold(report, view) {
	const f = report.fold ?? {}, of = f.curves?.[f.counter];

	if (f.status !== 'OK' || !of)
		return null;
	const [unit, text] = COUNTERS[f.counter] ?? [f.counter, number], phases = f.phases ?? [];
	const [line, most] = curve(of, phases, `${unit} along one execution, from 0 to ${text(Math.max(...of.rate.filter(known)))}`);
	const axis = el('div', { class: 'ax' }, [0, 0.25, 0.5, 0.75, 1].map((x) => {
		const s = el('span', { class: x === 0 ? 'a' : x === 1 ? 'z' : null }, time(x * f.period_s));

		s.style.left = `${100 * x}%`;
		return s;
	}));
	const weak = f.validity?.status === 'good' ? '' : [` This curve is ${f.validity?.status ?? 'not judged'}: `, name(f.validity?.why ?? '', 200), '.'];

	view.onShow(() => line.redraw());
	return low(section('fold', 'Inside one execution', [name(f.region ?? 'iterations that were found', 60), soft(`: ${plural(f.executions, 'execution')} of ${time(f.period_s)}`)],
		el('div', { class: 'folded' }, el('p', { class: 'soft' }, `${unit}, 0 to ${text(most)}`), line, axis),
		phases.length ? rows(['from', 'to', 'lasts', ...Object.values(COUNTERS).map(([u]) => u), 'code', 'of its samples'], phases.map((p) => [time(p.from * f.period_s), time(p.to * f.period_s) + (p.to_high > p.to_low ? ` ± ${time(Math.max(p.to_high - p.to, p.to - p.to_low) * f.period_s)}` : ''),
			time((p.to - p.from) * f.period_s), ...Object.entries(COUNTERS).map(([key, [, t]]) => (known(p[key]) ? t(p[key]) : '?')), name(p.runs ? `${p.code}; when it runs: ${p.runs}` : p.code ?? '?', 60), share(p.share)])) : '',
		el('p', { class: 'words soft' }, `${count(f.folded)} of the executions are laid over each other; their samples give the curve.`, weak),
		table('Table: the curve', ['of the execution', unit], () => of.rate.map((v, i) => [share(i / (of.rate.length - 1)), known(v) ? text(v) : '?']), 'Source: SamplePoints, as jobprof fold folds them.')));
}
