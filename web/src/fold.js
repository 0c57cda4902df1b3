// SPDX-License-Identifier: GPL-2.0-or-later
// The region that was folded, its curves over one execution and its phases: a part of the page of report, and the page
// of `jobprof fold --html`.
import { canvas, colour, el, grid, low, name, section, soft, table } from './dom.js';
import { count, mega, number, plain, plural, share, time } from './format.js';
import { paper } from './paper.js';
import { View } from './view.js';

// What a counter's rate is called, and how it is written.
const COUNTERS = { CPUTime: ['CPUs', (v) => number(v)], PageFaults: ['page faults/s', (v) => count(v)] };
const HEIGHT = 90;
const known = (v) => v !== null && v !== undefined;

// An estimated rate as it can be: a thread has at most one CPU.
const possible = (counter, rate) => rate.map((v) => (known(v) && counter === 'CPUTime' ? Math.min(v, 1) : v));

// A rate along one execution: the line, and where its phases begin.
function curve(rate, phases, highest, label) {
	const most = Math.max(highest, 1e-12) * 1.05, end = rate.length - 1;
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
		rate.forEach((y, i) => {
			if (known(y))
				g[i && known(rate[i - 1]) ? 'lineTo' : 'moveTo'](i / end * w, h - Math.max(0, y) / most * h);
		});
		g.stroke();
	}, { class: 'curve' });

	c.style.height = `${HEIGHT}px`;
	return c;
}

// Of a counter: its rate, a line over one execution, and the table behind it.
function chart(f, counter, view) {
	const of = f.curves[counter], [unit, text] = COUNTERS[counter] ?? [`${counter}/s`, mega], rate = possible(counter, of.rate), most = Math.max(0, ...rate.filter(known));
	const line = curve(rate, f.phases ?? [], most, `${unit} along one execution, from 0 to ${text(most)}`);
	const axis = el('div', { class: 'ax' }, [0, 0.25, 0.5, 0.75, 1].map((x) => {
		const s = el('span', { class: x === 0 ? 'a' : x === 1 ? 'z' : null }, time(x * f.period_s));

		s.style.left = `${100 * x}%`;
		return s;
	}));
	const head = ['of the execution', name(unit, 40), ...(of.curve ? ['of all until then'] : [])];

	view.onShow(() => line.redraw());
	return [el('div', { class: 'folded' }, el('p', { class: 'soft' }, name(unit, 40), `, 0 to ${text(most)}`), line, axis),
		table(`Table: ${plain(unit).slice(0, 40)} along it`, head, () => rate.map((v, i) => [share(i / (rate.length - 1)), known(v) ? text(v) : '?', ...(of.curve ? [share(of.curve[i])] : [])]), 'Source: SamplePoints, as jobprof fold folds them.')];
}

// counters: of these, each with its curve.
export function fold(report, view, counters = [report.fold?.counter]) {
	const f = report.fold ?? {};

	if (f.status !== 'OK' || !f.curves?.[f.counter])
		return null;
	const phases = f.phases ?? [], units = [...Object.entries(COUNTERS), ...counters.filter((c) => !COUNTERS[c]).map((c) => [c, [`${c}/s`, mega]])];
	const weak = f.validity?.status === 'good' ? '' : [` This curve is ${f.validity?.status ?? 'not judged'}: `, name(f.validity?.why ?? '', 200), '.'];

	return low(section('fold', 'Inside one execution', [name(f.region ?? 'iterations that were found', 60), soft(`: ${plural(f.executions, 'execution')} of ${time(f.period_s)}`)],
		counters.map((c) => chart(f, c, view)),
		phases.length ? grid(['from', 'to', 'lasts', ...units.map(([, [u]]) => name(u, 40)), el('th', { scope: 'col', class: 'say' }, 'code'), 'of its samples'], phases.map((p) => [time(p.from * f.period_s), time(p.to * f.period_s) + (p.to_high > p.to_low ? ` \u00b1 ${time(Math.max(p.to_high - p.to, p.to - p.to_low) * f.period_s)}` : ''),
			time((p.to - p.from) * f.period_s), ...units.map(([key, [, t]]) => (known(p[key]) ? t(p[key]) : '?')), el('td', { class: 'say' }, name(p.runs ? `${p.code}; when it runs: ${p.runs}` : p.code ?? '?', 60)), share(p.share)]), 'tm', 'Table: phases') : '',
		el('p', { class: 'words soft' }, `${count(f.folded)} of the executions are laid over each other; their samples give the curve.`, weak)));
}

// ---- the page

export function folded(f) {
	const curves = Object.fromEntries(Object.entries(f.counters).filter(([, c]) => c.rate)), view = new View(1), missing = Object.entries(f.counters).filter(([, c]) => c.reason);
	const counters = [f.counter, ...Object.keys(curves).filter((c) => c !== f.counter)], title = f.title || 'A job', what = f.region ?? 'iterations';

	document.title = plain(`${title}: ${what} folded`).slice(0, 200);
	document.body.append(el('header', {}, el('h1', {}, name(what, 80), ' ', el('code', {}, name(title, 120))), el('p', { class: 'st' }, `${plain(f.validity.status)}`),
		el('p', { class: 'about' }, `${plural(f.executions, 'execution')} in ${plural(f.threads, 'thread')}, ${count(f.folded)} of them folded, by ${plural(f.validity.samples, 'sample')}`)),
	el('main', {}, fold({ fold: { ...f, status: 'OK', curves } }, view, counters), missing.length ? el('p', { class: 'words soft' }, missing.map(([c, { reason }]) => [name(c, 40), `: ${plain(reason)}. `])) : ''),
	el('footer', {}, `jobprof ${f.version} \u00b7 every number on this page comes from `, el('code', {}, 'jobprof fold --json')));
	const draw = () => view.show();

	paper(draw);
	addEventListener('resize', draw);
	draw();
	return { fold: f };
}
