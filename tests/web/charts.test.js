// SPDX-License-Identifier: GPL-2.0-or-later
// The page's modules that make elements, in a document that is none: what is drawn, and what is said where something
// is not known. Those that need no document: modules.test.js; how all of it looks: browser.js, pages.js, looks.js.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { axis } from '../../web/src/axis.js';
import { Clock } from '../../web/src/clock.js';
import { beside } from '../../web/src/budget.js';
import { bursts, clusters } from '../../web/src/clusters.js';
import { compare, partsOf } from '../../web/src/compare.js';
import { LEVELS, UNKNOWN, read } from '../../web/src/data.js';
import { canvas, el, name, section, table } from '../../web/src/dom.js';
import { digest } from '../../web/src/digest.js';
import { energy } from '../../web/src/energy.js';
import { given } from '../../web/src/given.js';
import { findings } from '../../web/src/findings.js';
import { foot, head, title } from '../../web/src/head.js';
import { heat } from '../../web/src/heat.js';
import { monthTable } from '../../web/src/home.js';
import { histogram, range, sides } from '../../web/src/histogram.js';
import { paper } from '../../web/src/paper.js';
import { joined, ticks, within } from '../../web/src/plot.js';
import { onArrows, pointAt } from '../../web/src/pointer.js';
import { stacks } from '../../web/src/flame.js';
import { fold, folded } from '../../web/src/fold.js';
import { pop } from '../../web/src/pop.js';
import { report } from '../../web/src/report.js';
import { spread } from '../../web/src/spread.js';
import { ofCulprits, ofModules, ofThreads, statesOf } from '../../web/src/states.js';
import { io, method, missing, phases, programs } from '../../web/src/tables.js';
import { bandOf, inWindow, meanOf, timelines } from '../../web/src/timelines.js';
import { View } from '../../web/src/view.js';
import { browser, byClass, inside, told } from './fake.js';

const clockOf = (end_s) => new Clock({ job: { start: null }, facts: {}, page: { lines: { end_s, dt_s: 1 } } });
const text = (e) => e.textContent;
const rowsIn = (e) => e.querySelectorAll('tr').map(text);

test('axis: ticks lie inside, and the instant is there only inside of the window', () => {
	browser();
	const view = new View(100), line = axis(view, clockOf(100));

	view.show();
	const places = line.children.filter((s) => !s.classList.contains('now')).map((s) => parseFloat(s.style.left));

	assert.ok(places.length > 3 && places[0] === 0 && places.at(-1) === 100 && places.every((p, i) => !i || p > places[i - 1]), places);
	const [instant] = byClass(line, 'now');

	assert.equal(instant.hidden, true);
	view.move(25);
	assert.deepEqual([instant.hidden, instant.style.left, text(instant)], [false, '25%', '25.0 s']);
	view.zoom(50, 100);
	assert.equal(instant.hidden, true);
});

test('dom: text is never markup, what is null is not there, and a long name is cut', () => {
	browser();
	const e = el('p', { title: 'a\u202eb', hidden: null, open: true }, '<b>', null, ['x', [undefined, 3]]);

	assert.deepEqual([text(e), e.children.length, e.attributes], ['<b>x3', 0, { title: 'a\\u202eb', open: '' }]);
	assert.deepEqual([text(name('abcdef', 3)), name('abcdef', 3).getAttribute('title'), name('abc', 3).getAttribute('title')], ['abc\u2026', 'abcdef', null]);
	assert.deepEqual(section('id', 'Title', 'note', 'x').querySelectorAll('h2').map(text), ['Title']);
});

test('dom: a table is made once, when it is opened, and has 100 rows; a canvas is drawn where it has a size', () => {
	browser();
	let made = 0;
	const t = table('s', ['h'], () => { made++; return Array.from({ length: 120 }, (_, i) => [i]); });

	t.open = true;
	t.fire('toggle');
	t.fire('toggle');
	assert.deepEqual([made, t.querySelectorAll('td').length, t.querySelectorAll('p').map(text)], [1, 100, ['20 more rows: jobprof report --json']]);
	const sizes = [], c = canvas('c', (_, w, h) => sizes.push(w, h));

	c.redraw();
	Object.assign(c, { clientWidth: 30, clientHeight: 10 }).redraw();
	assert.deepEqual([sizes, c.width, c.height], [[30, 10], 60, 20]);
});

test('energy: the parts add up, bounds are on the axis, and without bounds there is no range', () => {
	browser();
	const part = energy({ facts: { energy_j: 90000, energy_low_j: 80000, energy_high_j: 100000, energy_static_j: 30000 } }), of = told(part, 'energy');

	assert.deepEqual([of.static, of.dynamic], ['30 kJ', '60 kJ']);
	assert.match(of.all, /^90 kJ \(80 kJ to 100 kJ\)$/);
	assert.match(text(part), /bounds are of the whole job/);
	assert.doesNotMatch(text(energy({ facts: { energy_j: 90000, energy_low_j: 80000, energy_high_j: 100000 } })) + text(energy({ facts: { energy_j: 90000, energy_static_j: 30000 } })), /of the whole job/);
	const [range] = byClass(part, 'rg')[0].children, end = parseFloat(range.style.left) + parseFloat(range.style.width);

	assert.ok(end > 50 && end <= 100, end);
	assert.equal(byClass(energy({ facts: { energy_j: 5 } }), 'rg')[0].children[0].style.width, undefined);
	assert.equal(energy({ facts: {} }), null);
});

test('given: what is not known or was not asked for has no bar, and no bar is too long', () => {
	browser();
	const of = (facts, gpu_use = null) => given({ facts, page: { gpu_use } }), bars = (e) => Object.fromEntries(e.children.map((x) => [x.getAttribute('data-given'), byClass(x, 'bar').length]));
	const none = of({ gpus: 0, wall_s: 5 }), all = of({ cpu_share: 1.5, cpu_s: 30, wall_s: 10, cores: 2, peak_mb: 512, limit_mb: 1024, limit_s: 40, job_elapsed_s: 10, gpus: 2 }, 0.25);

	assert.deepEqual(bars(none), { cpu: 0, memory: 0, time: 0, gpu: 0 });
	assert.match(text(none), /CPUnot knownMemorynot knownTime5 s, no limit knownGPUnone asked for/);
	assert.deepEqual(byClass(all, 'bar').map((b) => b.children[0].style.width), ['100%', '50%', '25%', '25%']);
	assert.deepEqual(byClass(all, 'share').map(text), ['150 %', '50 %', '25 %', '25 %']);
	assert.match(text(of({ gpus: 2 })), /2 GPUs, use not known$/);
	assert.match(text(of({ peak_mb: 100 })), /Memorypeak 100 MiB, no limit known/);
});

const HEAD = { job: { id: '42', steps: [{ name: '0' }], name: '<i>' }, facts: { nodes: 3, wall_s: 84, limit_s: 168, cores: 8 }, findings: [], commands: [], page: { nodes: ['n1', 'n3'], lines: { end_s: 84, dt_s: 1 }, version: '1' },
	coverage: { row_s: 1, share: 0.5, not_readable: [{}] } };

test('head: a job is called by its step if it has one; what is missing of it is said', () => {
	browser();
	const e = head(HEAD, clockOf(84));

	assert.equal(title({ job: { id: '42', steps: [{ name: '0' }, { name: '1' }] } }), 'Job 42');
	assert.equal(text(e.children[0]), 'Job 42 step 0 <i>');
	for (const said of ['3 nodes (n1 to n3)', '8 cores', 'ran 84 s of 2:48', 'a row every 1 s', '50 % of the time recorded', '1 file not readable'])
		assert.ok(text(e).includes(said), said);
	assert.ok(text(foot(HEAD)).includes('jobprof report -j 42 --json'));
});

test('head: none is missing only where nothing is', () => {
	const of = (coverage, facts = {}, job = {}) => text(head({ ...HEAD, job: { ...HEAD.job, ...job }, facts: { ...HEAD.facts, ...facts }, coverage: { row_s: 1, share: 1, lost_rows: 0, lost_counts: 0, missed_cpu_s: 0, not_readable: [], ...coverage } }, clockOf(84)));

	browser();
	assert.match(of({}), /none missing/);
	assert.match(of({ rows: 84 }), /a row every 1/);
	assert.match(of({ rows: 3, row_s: 0.1 }), / 3 rows . none missing/);
	for (const [said, ...args] of [['3 rows missing', { lost_rows: 3 }], ['its end is not in the file', { lost_rows: null }], ['counts lost', { lost_counts: 1 }], ['2 s of all counts lost at a restart, 1 s of CPU time', { lost_counts: 1, lost_s: 2, lost_cpu_s: 1, lost_what: 'all' }], ['used 9.50 ms of CPU time before', { missed_cpu_s: 0.0095 }], ['ran before it was counted', { missed_cpu_s: null }], ['50 % of the time', { share: 0.5 }], ['left its cgroup after 2 s: what left is not counted', {}, { left_cgroup_s: 2 }]]) {
		assert.doesNotMatch(of(...args), /none missing/, said);
		assert.ok(of(...args).includes(said), said);
	}
	assert.match(of({}, { left_cgroup_s: 2 }, { command: 'x' }), /none missing.*left its cgroup after 2 s: counted on/);
});

test('findings: what could be saved are two times that differ, or its share alone', () => {
	browser();
	for (const [wall, saving, wanted] of [[172, 0.12, 'at best 12 % less time: 2:31 instead of 2:52'], [11300, 0.006, 'at best 0.6 % less time: 3:07:12 instead of 3:08:20'], [0.13, 0.02, 'at best 2.0 % less time']]) {
		const f = { id: 'x.y', severity: 'note', text: 'It waited.', times: [], cost: { saving } };

		assert.equal(text(findings({ ...HEAD, facts: { wall_s: wall }, findings: [f], not_given: [], rule_errors: [], time_budget: { core_s: 84 } }, new View(84), clockOf(84)).children[0].children[1]), wanted);
	}
});

test('head: of a long command the names are shown, not where the files lie', () => {
	browser();
	const told = (command) => text(head({ ...HEAD, job: { ...HEAD.job, command } }, clockOf(84)).children[0]), long = 'x'.repeat(80);

	assert.equal(told('/usr/bin/python3 a.py'), 'Run 42 /usr/bin/python3 a.py');
	assert.equal(told(`/usr/bin/python3 /home/me/${long}/run.py / ./a/b`), 'Run 42 python3 run.py / ./a/b');
});

test('findings: a remedy is all there, options in it are elements of their own, and other rules are counted', () => {
	browser();
	const remedy = 'srun --cpus-per-task=N --cpu-bind=cores (srun does not take N); #SBATCH --mem=38G', f = { id: 'x.y', severity: 'bad', text: 'It waited.', remedy, times: [], cost: {} };
	const of = (not_given) => findings({ ...HEAD, findings: [f], not_given, rule_errors: [], time_budget: { core_s: 84 } }, new View(84), clockOf(84)), e = of([]);
	const rest = (n) => text(byClass(of([...Array.from({ length: n }, () => ({ judged: false, reason: 'needs it' })), { judged: true }]), 'reach')[0]);

	assert.deepEqual(byClass(e, 'do').map(text), [remedy]);
	assert.deepEqual([rest(0), rest(1), rest(2)], ['1 other rule found nothing.', '1 other rule found nothing; 1 was not judged, as what it needs is missing or the run was short.',
		'1 other rule found nothing; 2 were not judged, as what they need is missing or the run was short.']);
	assert.deepEqual(byClass(e, 'opt').map(text), ['--cpus-per-task=N', '--cpu-bind=cores', '--mem=38G']);
});

test('findings: a line of a job script is code, and the remedy is all there', () => {
	browser();
	const f = { id: 'x.y', severity: 'note', text: 'It used little.', times: [], cost: {} };
	const of = (more) => byClass(findings({ ...HEAD, findings: [{ ...f, ...more }], not_given: [], rule_errors: [], time_budget: { core_s: 84 } }, new View(84), clockOf(84)), 'do')[0];
	const line = of({ remedy: 'Ask for less: #SBATCH --mem=2G', remedy_code: '#SBATCH --mem=2G' }), all = of({ remedy: '#SBATCH --mem=2G', remedy_code: '#SBATCH --mem=2G' });

	assert.deepEqual([text(line), line.querySelectorAll('code').map(text)], ['Ask for less: #SBATCH --mem=2G', ['#SBATCH --mem=2G']]);
	assert.deepEqual([text(all), all.querySelectorAll('code').map(text)], ['#SBATCH --mem=2G', ['#SBATCH --mem=2G']]);
	assert.equal(of({ remedy: 'Share the work.', remedy_code: null }).querySelectorAll('code').length, 0);
});

test('budget: what other jobs and earlier runs say is a line, and nothing where they say nothing', () => {
	browser();
	const of = (alike) => beside(alike).map(text);
	const more = { of: 'wait for a disk', share: 0.3, than: 0.967, jobs: 1204, users: 17, program: 'lmp' }, earlier = { runs: 12, median_s: 60, elapsed_s: 84 };

	assert.deepEqual([of(null), of(undefined)], [[], []]);
	assert.deepEqual(of({ more, earlier: null }), ['More wait for a disk than 96 % of 1,204 other jobs of lmp here.']);
	assert.deepEqual(of({ more: null, earlier }), ['It took 1.40 times the median of the 12 earlier runs, 60 s.']);
});

test('heat: a pixel per row and cell; what is not known stays clear', () => {
	browser();
	const bytes = Uint8Array.from([LEVELS, 0, UNKNOWN, LEVELS]), zero = new Uint8Array(4), unit = { bytes, max: 1 };
	const rows = { of: 'task', n: 2, cells: 2, dt_s: 5, group: 1, name: ['0', '1'], node: ['n1', 'n1'], cores: [1, 1], of_time: { cpu: unit, wait: { bytes: zero, max: 0 }, disk: { bytes: zero, max: 0 } } }, view = new View(10);
	const { part } = heat(rows, 'heat', view, clockOf(10), () => null, () => {}), c = byClass(part, 'heat')[0];

	view.show();
	const [, image] = c.g.drawn.findLast(([k]) => k === 'putImageData'), alpha = [0, 1, 2, 3].map((i) => image.data[4 * i + 3]);

	assert.deepEqual([image.width, image.height, alpha, part.querySelectorAll('button').map(text)], [2, 2, [255, 255, 0, 255], ['State', 'CPU']]);
	assert.deepEqual([c.style.left, c.style.width], ['0%', '100%']);
	assert.equal(heat({ ...rows, n: 0 }, 'heat', view, null, () => null), null);
	assert.equal(heat({ ...rows, of_time: {} }, 'heat', view, null, () => null), null);
});

test('the band says what it goes from and to', () => {
	const of = (of_rows) => [true, false].map((many) => bandOf({ of_rows }, many, 'task'));

	assert.deepEqual(of(true), ['lowest to highest row of any task', 'lowest to highest row']);
	assert.deepEqual(of(false), ['lowest to highest task', null]);
});

test('histogram: at least ten buckets around those that have something, the highest is full', () => {
	browser();
	const counts = new Array(40).fill(0);

	counts[20] = 30;
	counts[22] = 60;
	assert.deepEqual([range(counts), range([0, 5])], [[18, 27], [0, 9]]);
	const part = histogram('h', 'Waits', counts, 'waits'), bars = byClass(part, 'hist')[0].children.filter((b) => b.style.height);

	assert.deepEqual(bars.map((b) => b.style.height), ['0', '0', '50%', '0', '100%', '0', '0', '0', '0', '0']);
	assert.match(text(part), /^Waits90 waits/);
	assert.match(text(histogram('h', 'Waits', [0, 0], 'waits')), /No waits were counted/);
	assert.match(text(histogram('h', 'Waits', [9, 0, 1], 'waits')), /half: none99 of 100 below 8 ns/); // the first bucket is of no time
	assert.equal(histogram('h', 'Waits', [], 'waits'), null);
});

// A text of 130 pixels, beside a plot of 330: a phone's. The lower line begins below the text of the upper one.
test('histogram: no text of a mark goes through the line of the other, or beyond the plot', () => {
	for (let half = 0.05; half < 0.96; half += 0.01)
		for (let most = half; most < 0.96; most += 0.01) {
			const of = sides(half, most), boxes = [half, most].map((at, i) => {
				const x = at * 330, width = i ? 126 : 88;

				return /\br\b/.test(of[i]) ? [x - width, x] : [x, x + width];
			});
			const low = of.findIndex((s) => s.includes('under')), other = [half, most][1 - low] * 330;

			assert.ok(!(boxes[low][0] < other - 1e-9 && boxes[low][1] > other + 1e-9), `${half} ${most} ${of} ${boxes}`);
			assert.ok(boxes.every(([a, b]) => a >= 0 && b <= 330), `${half} ${most} ${of} ${boxes}`);
		}
});

test('clusters: noise comes last, twelve kinds are shown, and a curve has a gap where it is not known', () => {
	browser();
	const kind = (i) => ({ name: i ? `kind${i}` : 'noise', bursts: i + 1, share: 0.05, run_s: 0.01, least_run_s: 0.01, most_run_s: 0.02, gap_s: null });
	const of = (n) => clusters({ clusters: { status: 'OK', from: 'bursts', bursts: 99, clusters: Array.from({ length: n }, (_, i) => kind(i)) } });
	const part = of(15);

	assert.deepEqual([Object.keys(told(part, 'bursts')).length, Object.keys(told(part, 'bursts')).at(-1), told(part, 'bursts').kind3], [13, 'noise', '4']);
	assert.match(text(part), / 2 more kinds: --json$/);
	assert.doesNotMatch(text(part), /samples|Probes/);
	assert.match(text(clusters({ clusters: { status: 'OK', hint: 'Probes paused: x', clusters: [kind(0)] } })), /noise.*Probes paused: x\./);
	const named = clusters({ clusters: { status: 'OK', from: 'bursts', bursts: 3, clusters: [{ ...kind(0), most_samples: null }, { ...kind(1), most_samples: { name: 'dgemm_', samples: 9, of: 12 } }] } });
	assert.match(text(named), /samples, most in.*75 % dgemm_.*noise/);
	assert.deepEqual([of(1), clusters({}), fold({ fold: { status: 'UNAVAILABLE' } })], [null, null, null]);
	const view = new View(1), folded = fold({ fold: { status: 'OK', counter: 'CPUTime', period_s: 2, executions: 9, folded: 8, curves: { CPUTime: { rate: [1, 1, null, 0.5, 0.5] } }, validity: { status: 'weak', why: 'few' } } }, view), [c] = byClass(folded, 'curve');

	Object.assign(c, { clientWidth: 100, clientHeight: 100 });
	view.show();
	assert.deepEqual(c.g.drawn.filter(([k]) => /To$/.test(k)).map(([k, x]) => [k, x]), [['moveTo', 0], ['lineTo', 25], ['moveTo', 75], ['lineTo', 100]]);
	assert.match(text(folded), /This curve is weak: few\./);
	const phases = [{ from: 0, to: 0.5, to_low: 0.4, to_high: 0.55, code: 'f', share: 0.9 }, { from: 0.5, to: 1, to_low: 1, to_high: 1, code: 'g', share: 0.8 }];

	assert.equal(text(fold({ fold: { status: 'OK', counter: 'CPUTime', period_s: 20, curves: { CPUTime: { rate: [1, 1] } }, phases } }, new View(1))).split('±').length, 2);
});

test('the page of clusters: a point per burst in the colour of its kind, all kinds in the table, a strip per task', () => {
	const page = browser(), kind = (name, bursts, gap_s) => ({ name, bursts, share: 0.5, run_s: 0.01, least_run_s: 0.01, most_run_s: 0.02, gap_s, spread: 0.1, on_cpu: 0.8 });
	const axis = (name) => ({ name, low: 0.001, high: 1, log: true }), sized = { clientWidth: 400, clientHeight: 200 };

	bursts({ status: 'OK', title: '<b>, job 7', version: '1', bursts: 9, threads: 2, by: ['run', 'gap'], min_pts: 10, eps: 0.00512, paused: null, hint: 'Most is noise', places: 3,
		clusters: [kind('noise', 1, 0.1), kind('A', 2, null)], lines: [{ of: 'task 0', to_s: 20, line: 'AA. ' }],
		plane: { x_axis: axis('run time'), y_axis: axis('gap'), x: [0.001, 0.01, 1], y: [0.001, 1, 0.01], of: [1, 1, 0], shown: 6, undrawn: 40 } });
	const { body } = document, [c] = byClass(body, 'points'), [strip] = byClass(body, 'strips')[0].querySelectorAll('canvas');

	assert.equal(document.title, '<b>, job 7: kinds of bursts');
	assert.match(text(body), /^Kinds of bursts <b>, job 71 cluster9 long bursts of 2 threads, clustered by run and gap \(DBSCAN: 10 within 0\.00512\).*3 of 6 are drawn; 40 without a known gap.*Most is noise\..*2 more lines: --json/);
	assert.deepEqual([Object.entries(told(body, 'bursts')), rowsIn(byClass(body, 'rk')[0]).slice(1)],
		[[['A', '2'], ['noise', '1']], ['A250 %10 ms10 ms20 ms10 %none80 %', 'noise150 %10 ms10 ms20 ms0.10 s80 %']]);
	assert.deepEqual(byClass(body, 'sw').map((i) => i.style.background), ['var(--c0)', 'var(--band)']);
	Object.assign(c, sized);
	Object.assign(strip, sized);
	page.fire('resize');
	assert.deepEqual(c.g.drawn.filter(([k]) => k === 'arc').map(([, x, y]) => [Math.round(x), Math.round(y)]), [[0, 200], [133, 0], [400, 133]]);
	assert.deepEqual(strip.g.drawn.filter(([k]) => k === 'fillRect'), [['fillRect', 0, 0, 100, 200], ['fillRect', 100, 0, 100, 200], ['fillRect', 200, 0, 100, 200]]);
	assert.deepEqual(byClass(body, 'yt').map(text), ['1 ms', '3 ms', '10 ms', '30 ms', '100 ms', '300 ms', '1 s']);
});

test('the page of a fold: each counter that was folded has a curve, of which no CPU is more than one, and why others have none', () => {
	const page = browser(), counters = { CPUTime: { rate: [7, 0.5], curve: [0, 1], reason: null }, PageFaults: { reason: 'does not change' }, Cycles: { rate: [1e9, 2e9], curve: [0, 1], reason: null } };

	folded({ title: 'solver, job 7', version: '1', region: '<i>', executions: 9, folded: 8, threads: 1, period_s: 2, counter: 'Cycles', counters, validity: { status: 'weak', why: 'few', samples: 40 },
		phases: [{ from: 0, to: 1, to_low: 1, to_high: 1, code: 'f', runs: null, share: 0.9, Cycles: 1.5e9, CPUTime: 1, PageFaults: null }] });
	const { body } = document, curves = byClass(body, 'curve');

	assert.equal(document.title, 'solver, job 7: <i> folded');
	assert.match(text(body), /^<i> solver, job 7weak9 executions in 1 thread, 8 of them folded, by 40 samples/);
	assert.match(text(body), /Cycles\/s, 0 to 2 G.*CPUs, 0 to 1.*1\.50 Gf.*This curve is weak: few\.PageFaults: does not change\. /);
	curves.forEach((c) => Object.assign(c, { clientWidth: 100, clientHeight: 105 }));
	page.fire('resize');
	assert.deepEqual(curves.map((c) => c.g.drawn.filter(([k]) => /To$/.test(k)).map(([, x, y]) => [x, Math.round(y)])), [[[0, 55], [100, 5]], [[0, 5], [100, 55]]]);
	assert.deepEqual(rowsIn(byClass(body, 'rk')[0]), ['fromtolastsCPUspage faults/sCycles/scodeof its samples', '0 s2 s2 s1?1.50 Gf90 %']);
});

test('compare: parts that neither run has are left out, and efficiencies have no seconds', () => {
	const row = (name, a, b, s = 1) => ({ name, a, b, s });

	assert.deepEqual(partsOf({ rows: [row('x', 0.001, 0.004), row('y', 0, 0.2), row('z', 0.6, 0), row('e', 0.001, 0.002, null), row('f', 0.5, null, null)] }).map((r) => r.name), ['y', 'z', 'e']);
	browser();
	const run = { job: '1', start: 0, wall_s: 10, nodes: 1, cores: 2, tasks: 2 };

	compare({ a: run, b: { ...run, wall_s: 12 }, s: 2, cause: 'work', sentence: 'S', terms: [{ id: 'work', name: 'CPU time', s: 2, share: 0.2, a: 8, b: 10, unit: 's', part_of: null }], notes: [], baseline: { runs: 0, left_out: 0, later: 0 },
		tables: [{ id: 'pop', name: 'Efficiency', a_by: 'samples', b_by: 'blocking', rows: [{ name: 'parallel', a: 0.5, b: 0.25, points: -25, a_s: null, b_s: null, s: null }] }] });
	assert.deepEqual(told(document.body, 'part'), { 'pop parallel a': '50.0 %', 'pop parallel b': '25.0 %', 'pop parallel s': '', 'pop parallel points': '\u221225.0' });
	assert.match(text(document.body), /A is measured by samples, B by blocking/);
});

test('main: without numbers the page says that it is a template; else the data say which page it is', async () => {
	browser('/*DATA*/');
	await import('../../web/src/main.js?template');
	assert.match(text(document.body), /^This is the template/);
	browser(JSON.stringify({ flame: 1, labels: ['job 1'], names: ['main'], nodes: [[0, 0, 0]], counts: [[0, 5, 1, 2]] }));
	await import('../../web/src/main.js?flame');
	assert.match(text(document.body), /job 1.*all: 2 s, 100 %/);
});

test('stacks: of a report with both kinds there is a choice, of one there is none', () => {
	browser();
	const of = (name, s) => ({ status: 'OK', labels: [''], names: [name], nodes: [[0, 0, 0]], counts: s ? [[0, 5, 1, s]] : [] }), none = { status: 'UNAVAILABLE' };
	const both = stacks({ page: { flame: of('main', 2), flame_blocked: of('[futex]', 3) } }), boxes = () => byClass(both, 'fl').map((b) => b.getAttribute('title'));
	const [choice] = byClass(both, 'choice'), pressed = () => choice.children.map((b) => b.getAttribute('aria-pressed'));

	assert.deepEqual([boxes(), pressed()], [['all: 2 s, 100 %', 'main: 2 s, 100 %'], ['true', 'false']]);
	assert.deepEqual(both.querySelectorAll('h2').map(text), ['Which functions ran or were blocked']);
	choice.children[1].fire('click');
	assert.deepEqual([boxes(), pressed()], [['all: 3 s, 100 %', '[futex]: 3 s, 100 %'], ['false', 'true']]);
	assert.deepEqual([none, of('x', 0)].map((blocked) => byClass(stacks({ page: { flame: of('main', 2), flame_blocked: blocked } }), 'choice').length), [0, 0]);
	assert.deepEqual([stacks({ page: { flame: none, flame_blocked: none } }), stacks({ page: {} })], [null, null]);
});

test('paper: printing has the light colours, before and until it is done', () => {
	const page = browser(), seen = [];

	paper(() => seen.push(page.classList.contains('paper')));
	page.fire('beforeprint');
	page.fire('afterprint');
	assert.deepEqual(seen, [true, false]);
});

test('plot: a step has its value from begin to end, and a gap none; ticks are multiples of the step', () => {
	const c = { begin_s: [0, 2], end_s: [1, 3], middle: [5, 7], low: [4, 6], high: [6, 8] };

	assert.deepEqual(joined([c]), [[0, 0, 1, 1, 2, 2, 3, 3], [null, 6, 6, null, null, 8, 8, null], [null, 4, 4, null, null, 6, 6, null], [null, 5, 5, null, null, 7, 7, null]]);
	assert.deepEqual([within(c, 0, 3), within(c, 2.5, 2.5).median, within(c, 1.5, 1.5).median], [{ lowest: 4, highest: 8, median: 6 }, 7, NaN]);
	assert.deepEqual(ticks({ low: 0, high: 2500, step: 1, factor: 1e-3 }).map(([v, t]) => [v + 0, t]), [[0, '0'], [1000, '1'], [2000, '2']]);
	assert.deepEqual(ticks({ low: -0.5, high: 0.5, step: 0.5, factor: 1 }).map(([, t]) => t), ['-0.5', '0.0', '0.5']);
});

test('pointer: a drag zooms, a click pins the instant and unpins it, and the pointer that leaves goes back to it', () => {
	browser();
	const view = new View(100), plot = Object.assign(el('div'), { clientWidth: 200 });
	const at = (type, clientX) => plot.fire(type, { clientX, pointerType: 'mouse', button: 0 });

	pointAt(plot, view);
	at('pointermove', 50);
	assert.equal(view.at, 25);
	at('pointerdown', 50);
	at('pointerup', 51);
	assert.equal(view.pin, 25.5);
	at('pointermove', 190);
	plot.fire('pointerleave');
	assert.equal(view.at, 25.5);
	at('pointerup', 51);
	assert.ok(Number.isNaN(view.pin));
	at('pointerdown', 150);
	at('pointerup', 50);
	assert.deepEqual([view.from, view.to], [25, 75]);
	plot.fire('dblclick');
	assert.ok(view.isWhole);
});

test('pointer: arrows choose rows from the first to the last', () => {
	browser();
	const view = new View(1), box = el('div'), picked = [], press = (key, more) => box.fire('keydown', { key, ...more });

	onArrows(box, { of: 'task', n: 2 }, view, (row) => { picked.push(row); view.row = row; });
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp', 'x'])
		press(key);
	press('ArrowDown', { ctrlKey: true });
	assert.deepEqual(picked, [0, 1, 0]);
});

test('pop: numbers that are known have a bar and the way they were measured, and else nothing is there', () => {
	browser();
	const part = pop({ pop: { load_balance: 0.5, communication_efficiency: null, parallel_efficiency: null, measured_by: 'samples', pop_samples: 1500, reason: 'ranks have threads' } });

	assert.deepEqual(told(part, 'pop'), { load_balance: '0.50' });
	assert.equal(byClass(part, 'bar')[0].children[0].style.width, '50%');
	assert.match(text(part), /the rank with fewest had 1,500\. The other numbers are not known: ranks have threads\.$/);
	assert.deepEqual([pop({}), pop({ pop: { load_balance: null } })], [null, null]);
	const open = (facts) => pop({ pop: { load_balance: null, reason: 'they may spin' }, facts });

	assert.match(text(open({ has_mpi: 1, tasks: 2 })), /It is not known: they may spin\.$/);
	assert.deepEqual([open({ has_mpi: 1, tasks: 1 }), open({ tasks: 2 })], [null, null]);
});

test('digest: money, energy and the week before are there where they are known, and only then', () => {
	const sums = { jobs: 9, held_core_s: 72e6, profiled_core_s: 54e6, lost_core_s: 18e6, lost_share: 0.25, energy_j: null, money_lost: null, money_held: null };
	const account = { ...sums, account: '<b>p1', trend: null, mostly_by: null }, finding = { rule: 'io.wait', jobs: 3, users: 2, cost_core_s: 7200, cost_core_s_before: null, cost_money: null };
	const all = { from: 0, to: null, total: sums, before: { jobs: 0, lost_core_s: null }, accounts: [account], findings: [finding], ask: [], slower: [], nodes: [], advice: { contacts: 0 } };

	browser();
	digest({ digest: all, from: '2026-11-06', to: 'now', version: '1' });
	const few = text(document.body);

	assert.match(few, /From 2026-11-06 to now/);
	assert.ok(/9 jobs held 20,000 core-h and lost 5,000 core-h \(25 %\)\. 25 % of what was held has no profile/.test(few) && few.includes('<b>p1'), few);
	assert.ok(!/lower than|EUR|Trend|kWh|Mostly|before they|null|undefined|NaN/.test(few.replace(/against as long a time before/, '')), few);
	assert.ok(!/Only jobs|the first/.test(few), few);
	browser();
	digest({ digest: { ...all, filter: { project: 'p1,<b>p2', 'ran-at': '2h' }, of: { accounts: 57, findings: 1, ask: 0, slower: 0, nodes: 0 },
		advice: { contacts: 3, helped: 1, saved_core_s_week: 7.2e7, saved_by_all_core_s_week: -3.6e7 } }, from: '2026-11-06', to: 'now', version: '1' });
	const some = text(document.body);

	assert.match(some, /Only jobs of --project p1,<b>p2 --ran-at 2h\..*9 jobs held/s);
	assert.ok(some.includes('the first 1 of 57; trend: ') && !some.includes('of 1; '), some);
	assert.match(some, /1 of 3 contacts helped: 20,000 core-h a week; all of which it is known together: -10,000 core-h a week\./);
	browser();
	const priced = { ...sums, energy_j: 7.2e9, energy_money: 620, co2_kg: 760, money_lost: 90, money_held: 360 };

	digest({ digest: { ...all, from: 691200, before_from: 0, currency: 'EUR', total: priced, before: { jobs: 8, lost_core_s: 36e5, lost_share: 0.1, energy_j: 3.6e9 },
		accounts: [{ ...priced, account: 'p1', trend: 0.15, mostly_by: 'io.wait' }, { ...priced, account: 'p2', trend: -0.021, mostly_by: '' }, { ...priced, account: '', trend: null }],
		slower: [{ user: 'u1', account: 'p1', name: '<b>run', runs: 9, median_s: 7200, median_s_before: 5400, longer: 1 / 3, more_core_s: 36e4 }],
		nodes: [{ node: 'n5', cluster: '', runs: 20, speed: 0.8, longer: 0.25, node_fails: 1, findings: 2 }, { node: 'n6', cluster: '', runs: 2, speed: null, longer: null, node_fails: 0, findings: 3 }],
		findings: [{ ...finding, cost_core_s_before: 3600, cost_money: 0.036 }] }, from: '2026-11-06', to: 'now', version: '1' });
	const said = text(document.body), rows = rowsIn(document.body);

	assert.match(said, /: 90 EUR of 360 EUR\. In the 8 days before they lost 1,000 core-h \(10 %\)/);
	assert.match(said, /Energy: 2 MWh, 620 EUR, 760 kg of CO\u2082; before 1 MWh\./);
	assert.ok(rows.some((r) => /^p1.*\+15.*2,00090waits for files$/.test(r)) && rows.some((r) => /\u22122\.1/.test(r)) && rows.some((r) => /^not known.*not known/.test(r)), rows);
	assert.ok(rows.some((r) => /^waits for files.*1\.000\.04$/.test(r)), rows);
	assert.ok(rows.some((r) => /^u1p1<b>run9.*\+33 %100$/.test(r)) && rows.some((r) => /^n52080 %\+25 %12$/.test(r)) && rows.some((r) => /^n62not knownnot known03$/.test(r)), rows);
	assert.ok(!said.includes('cluster'), said);
});

test('home: energy has one row, whether this month, the last one or both are known, or neither', () => {
	const days = (energy_j) => [{ day: '2026-11-01', lost_core_s: 3600, held_core_s: 7200, energy_j }];

	browser();
	for (const [now, before, said] of [[3.6e6, 7.2e6, /^Energy used1\.00 kWh2\.00 kWh/], [null, 7.2e6, /^Energy used\?2\.00 kWh$/], [3.6e6, null, /^Energy used1\.00 kWh\?$/], [null, null, /^Energynot known/]]) {
		const rows = rowsIn(monthTable(days(now), days(before), ['November', 'October'])).filter((r) => r.startsWith('Energy'));

		assert.ok(rows.length === 1 && said.test(rows[0]), rows);
	}
});

test('spread: says in words how units differ, and nothing where there is one', () => {
	browser();
	const q = (key, lowest, median, highest, mean, units = 4) => ({ key, units, median, mean, lowest: { value: lowest, name: '0' }, highest: { value: highest, name: '3', node: 'n1' }, sample: [lowest, highest] });
	const view = new View(1), alike = (report) => text(spread({ ...report, page: { spread: { of: 'task', quantities: [q('cpu_s', 9.9, 10, 10.1, 10)] } } }, view).part);

	for (const [facts, by, isAlike] of [[{ has_mpi: 1 }, 'blocking', true], [{ has_mpi: 1 }, 'samples', false], [{ has_mpi: 1 }, null, false], [{ has_mpi: 0 }, null, true]])
		assert.equal(/all alike/.test(alike({ facts, pop: { measured_by: by } })), isAlike, JSON.stringify([facts, by]));
	const { part } = spread({ page: { spread: { of: 'task', quantities: [q('cpu_s', 9.9, 10, 10.1, 10), q('write_mb', 0, 0, 80, 20), q('wait_s', 1, 2, 10, 6), q('unheard', 1, 2, 3, 2)] } } }, view);

	assert.deepEqual(Object.values(told(part, 'spread')).map((t) => t.match(/all alike|task 3 has.*|highest is.*/)?.[0]), ['all alike', 'task 3 has 100 %', 'highest is 5.0 times the median']);
	const [c] = byClass(part, 'ticks');

	Object.assign(c, { clientWidth: 101, clientHeight: 10 });
	view.show();
	assert.equal(c.g.drawn.filter(([k]) => k === 'lineTo').length, 3); // the axis and both values
	assert.equal(spread({ page: { spread: { quantities: [] } } }, view), null);
});

test('states: each part that report tells of has a colour of its own, and one that is not known the colour of idle', () => {
	const named = (from) => { // the names of a table in C
		const source = readFileSync(new URL('../../user/view/report/report_budget.c', import.meta.url), 'utf8'), begin = source.indexOf(from);

		return [...source.slice(begin, source.indexOf('};', begin)).matchAll(/"([^"]+)"}|= "([^"]+)"/g)].map((m) => ({ name: m[1] ?? m[2] }));
	};

	for (const [of, from, least] of [[statesOf, 'names[N_BUDGET]', 8], [ofThreads, ' thread_parts[]', 17], [ofCulprits, ' culprit_parts[]', 9], [ofModules, ' module_parts[]', 11]]) {
		const colours = of(named(from)).map((s) => s.colour);

		assert.ok(colours.length === least && new Set(colours).size === least, `${from}: ${colours}`);
	}
	assert.deepEqual([ofModules, statesOf].map((of) => of([{ name: 'of tomorrow' }])[0].colour), ['--s6', '--s6']);
});

test('tables: shares of programs, reasons of what was not judged, and why something is not known', () => {
	browser();
	const command = (name, cpu_s, processes = 1) => ({ name, cpu_s, processes, peak_mb: 1, read_mb: 0, write_mb: null });
	const part = programs({ facts: { cpu_s: 10 }, commands: [command('a', 7.5), command('b', 2.5), command('forked', 0.01, 0)] });

	assert.deepEqual(rowsIn(part).slice(1), ['a7.50 s75 %11 MiB0 B?', 'b2.50 s25 %11 MiB0 B?']);
	assert.equal(programs({ facts: {}, commands: [] }), null);
	const kind = { 120: { dt_s: 120, read: { c0: { status: 'UNSUITABLE', reason: 'too_short' } }, written: {}, write: { c0: { status: 'OK', volume: 2097152, bw_max: 1048576, bw_mean: 0, io_active: false } } } };

	assert.match(text(io({ facts: {}, io: { node: kind } })), /readnot judged: too short.*written2 MiB1 MiB\/s0 B\/snever/);
	assert.equal(io({ facts: {}, io: { node: {} } }), null);
	const not = missing({ page: { flame: { status: 'UNAVAILABLE', reason: 'no stacks' } }, missing: { wait_s: 'off', energy_j: null }, findings: [], not_given: [{ id: 'x.y', judged: false, reason: 'short' }], coverage: { not_readable: [{ node: 'n1', step: '0', trouble: 'cut' }] } });

	assert.deepEqual(not.querySelectorAll('dd').map(text), ['off', 'the profile does not have it', 'no stacks', 'left out: cut', 'short']);
	assert.equal(phases({ job: { steps: [{}] }, pika: {}, page: { lines: {} } }), null);
	assert.match(text(method({ coverage: { row_s: 1, bin_s: 30, share: null, parts: 1, collector: 'slurm' }, facts: {}, page: { lines: { dt_s: 2 } } }, clockOf(9))), /\? of the time, 1 part .*Slurm/);
});

test('timelines: a row\u2019s mean is of the cells that are known, a window has a point, and without lines that is said', () => {
	const rows = { of: 'task', n: 2, cells: 2, dt_s: 10, group: 1, cores: [2, 2], of_time: { cpu: { max: 1, bytes: Uint8Array.from([LEVELS, UNKNOWN, LEVELS / 2, UNKNOWN]) } } }, line = { key: 'cpu', of: 'task' }, lines = { n: 4, dt_s: 5, end_s: 20 };

	assert.deepEqual(meanOf(rows, line, new Set([0, 1]), lines), [1.5, 1.5, null, null, null]);
	assert.deepEqual([meanOf(rows, line, null, lines), meanOf(rows, { key: 'net', of: 'task' }, new Set([0]), lines)], [new Array(5).fill(null), new Array(5).fill(null)]);
	assert.deepEqual([inWindow(lines, { from: 6, to: 7 }), inWindow(lines, { from: 0, to: 20 }), inWindow(lines, { from: 20, to: 20 })], [[1, 2], [0, 4], [3, 4]]);
	browser();
	assert.match(text(timelines({}, [], new View(1), null, null, 'time', 'Over time').part), /The profile has no rows of CPU time/);
});

test('report: of a job of which next to nothing is known the page is whole, and says so', () => {
	browser();
	const rows = { of: 'task', n: 0, cells: 0, dt_s: 1, name: [], node: [] };
	const { view } = report({ ...HEAD, findings: [], not_given: [], rule_errors: [], time_budget: { shares: [] }, io: { node: {} }, pika: {}, missing: { wait_s: 'off' }, coverage: { ...HEAD.coverage, not_readable: [], parts: 1 },
		page: { ...HEAD.page, lines: { n: 0, dt_s: 1, end_s: 84, of: [] }, rows, gpu_rows: rows, spread: { quantities: [] }, run_latency: [], blk_latency: [] } });
	const ids = inside(document.body).filter((e) => e.tagName === 'SECTION').map((e) => e.getAttribute('id')), said = text(document.body);

	for (const id of ['time', 'missing', 'method'])
		assert.ok(ids.includes(id), `${id} of ${ids}`);
	for (const id of ['heat', 'spread', 'pop', 'clusters', 'stacks', 'energy'])
		assert.ok(!ids.includes(id), id);
	assert.ok(/Waiting for CPUsoff/.test(said) && !/NaN|undefined|\[object/.test(said) && document.title === 'Job 42 step 0: jobprof report' && view.isWhole, said);
});
