// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jobprof report --html`: puts its parts in order.
import { budget, culprits, modules, threads } from './budget.js';
import { Clock } from './clock.js';
import { clusters } from './clusters.js';
import { read, rowsOf } from './data.js';
import { el, low } from './dom.js';
import { energy } from './energy.js';
import { findings } from './findings.js';
import { stacks } from './flame.js';
import { fold } from './fold.js';
import { plain } from './format.js';
import { given } from './given.js';
import { foot, head, title } from './head.js';
import { heat } from './heat.js';
import { histogram } from './histogram.js';
import { choose } from './lines.js';
import { paper } from './paper.js';
import { pop } from './pop.js';
import { spread } from './spread.js';
import { io, method, missing, phases, programs, statistics } from './tables.js';
import { timelines } from './timelines.js';
import { View } from './view.js';

const SEVERITY_COLOURS = { bad: '--bad', warn: '--warn', note: '--note' };

// The chosen rows: of the row that was clicked, else those that the chosen finding names.
function chooser(report, view) {
	const { rows } = report.page, of = report.findings.map((f) => rowsOf(rows, f.where));

	return () => {
		if (view.row >= 0)
			return { rows: new Set([view.row]), text: `${rows.of} ${plain(rows.name[view.row]).slice(0, 40)}`, class: 'own', colour: '--focus' };
		const f = report.findings[view.finding];

		return { rows: (f && of[view.finding]) ?? null, text: f?.where ?? '', class: f?.severity ?? '', colour: SEVERITY_COLOURS[f?.severity] ?? '--focus' };
	};
}

const column = (...parts) => el('div', {}, parts);

function pair(...parts) {
	const there = parts.filter(Boolean);

	return there.length ? el('div', { class: there.length > 1 ? 'two' : 'one' }, there) : null;
}

function onKeys(report, view) {
	const n = report.findings.length, go = (i) => {
		if (n && i !== view.finding)
			view.pick(i, report.findings[i]);
	};
	const step = (by) => {
		const t = Number.isNaN(view.at) ? view.from : view.at + by * report.page.lines.dt_s;

		view.pin = Math.min(view.to, Math.max(view.from, t));
		view.at = view.pin;
		view.show();
	};

	addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const isArrow = e.key === 'ArrowLeft' || e.key === 'ArrowRight';

		if (e.key === 'j')
			go(Math.min(n - 1, view.finding + 1));
		else if (e.key === 'k')
			go(Math.max(0, view.finding - 1));
		else if (e.key === 'Escape')
			view.reset();
		else if (isArrow && !e.target.closest('button,details,.in'))
			step(e.key === 'ArrowRight' ? 1 : -1);
		else
			return;
		e.preventDefault();
	});
}

function tell(view, clock, hot) {
	const said = el('p', { class: 'sr', 'aria-live': 'polite' });
	let first = true;

	view.onShow(() => {
		const what = view.finding >= 0 ? `Finding ${view.finding + 1}. ` : view.row >= 0 ? `${hot().text}. ` : '';
		const text = `${what}${view.isWhole ? 'Whole job' : clock.span(view.from, view.to)}`;

		if (!first)
			said.textContent = text;
		first = false;
	});
	return said;
}

// The address is not changed where the browser does not allow that, as in a mail's preview.
function keepAddress(view) {
	view.onShow(() => {
		const address = view.address();

		try {
			history.replaceState(null, '', address ? `#${address}` : location.pathname + location.search);
		} catch { /* the page works without */ }
	});
}

export function report(data) {
	return build(read(data));
}

function build(report) {
	const clock = new Clock(report), view = new View(report.page.lines.end_s);
	const hot = chooser(report, view), chosen = () => hot().rows, [first, others] = choose(report.page.lines.of);
	const time = timelines(report, first, view, clock, hot, 'time', 'Over time');
	const more = others.length ? timelines(report, others, view, clock, hot, 'more', 'More over time') : null;
	const { rows, gpu_rows: gpus } = report.page, ofGpus = report.findings.map((f) => rowsOf(gpus, f.where));
	const pick = (row) => view.set({ row: view.row === row ? -1 : row, finding: -1 }), map = heat(rows, 'heat', view, clock, chosen, pick);
	const gpuMap = heat(gpus, 'gpus', view, clock, () => (/^GPU/.test(report.findings[view.finding]?.where ?? '') ? ofGpus[view.finding] : null)), who = spread(report, view);
	const main = el('main', {},
		el('div', { class: 'top' }, findings(report, view, clock), budget(report, view, chosen, pick)),
		given(report), time.part, low(threads(report, view, chosen, pick)), low(culprits(report, view, chosen, pick)),
		pop(report), low(modules(report, view, chosen, pick)), stacks(report), clusters(report), fold(report, view), who?.part, map?.part, gpuMap?.part, more?.part,
		pair(histogram('run-latency', 'Waits for a CPU', report.page.run_latency, 'waits', 'Source: RunLatency, counted at each switch.'),
			histogram('blk-latency', 'Disk requests', report.page.blk_latency, 'requests', 'Source: BlkLatency, counted at each request.')),
		pair(io(report)), phases(report, view, clock), pair(programs(report)), pair(column(energy(report), missing(report)), column(statistics(report), method(report, clock))));

	low(more?.part);
	document.title = plain(`${title(report)}: jobprof report`).slice(0, 200);
	document.body.append(head(report, clock), main, foot(report), tell(view, clock, hot));
	time.start();
	more?.start();
	onKeys(report, view);
	paper(() => view.show());
	addEventListener('resize', () => view.show());
	const load = () => view.load(location.hash, report.findings.length, report.page.rows.n);

	load();
	keepAddress(view);
	addEventListener('hashchange', load);
	return { report, view };
}
