// SPDX-License-Identifier: GPL-2.0-or-later
// The page's modules that need no browser: node --test tests/web
import assert from 'node:assert/strict';
import test from 'node:test';
import { Clock, spacing } from '../../web/src/clock.js';
import { LEVELS, UNKNOWN, cell, quantile, read, rowsOf, stateOf } from '../../web/src/data.js';
import * as format from '../../web/src/format.js';
import { present, shown } from '../../web/src/budget.js';
import { steps } from '../../web/src/compare.js';
import { when } from '../../web/src/findings.js';
import { boxes, ends, found, functions, tree, weigh } from '../../web/src/flame.js';
import { choose, inside, summary } from '../../web/src/lines.js';
import { lanesOf } from '../../web/src/marks.js';
import { unpacked } from '../../web/src/rows.js';
import { ticksOf } from '../../web/src/scatter.js';
import { View } from '../../web/src/view.js';

const floats = (...v) => Buffer.from(Float32Array.from(v).buffer).toString('base64');
const bytes = (...v) => Buffer.from(v).toString('base64');

function reportOf(lines, rows = {}) {
	return read({ time_budget: { shares: [] }, page: { lines: { dt_s: 10, n: 3, end_s: 25, of: lines }, rows } });
}

test('sizes and times have units, and what is not known is a question mark', () => {
	for (const [got, wanted] of [[format.mb(290 / 1024), '290 KiB'], [format.mb(1024), '1 GiB'], [format.mb(1500), '1.46 GiB'], [format.mb(0), '0 B'],
		[format.mb(1e300), /PiB$/], [format.cores(384000 * 3600), '384,000 core-h'], [format.cores(3.6e6), '1,000 core-h'], [format.rate(1945.6), '1.90 GiB/s'], [format.time(0.084), '84 ms'], [format.time(0.21), '0.21 s'], [format.time(84), '84 s'], [format.time(17.107), '17.1 s'], [format.time(99.97), '1:40'],
		[format.time(312), '5:12'], [format.time(4990), '1:23:10'], [format.time(273600), '3-04:00:00'], [format.time(-1), '?'], [format.time(3e-6), '3 \u00b5s'],
		[format.time(null), '?'], [format.mb(NaN), '?'], [format.share(undefined), '?'], [format.share(0.31), '31 %'], [format.share(0.021), '2.1 %'],
		[format.cores(77040), '21.4 core-h'], [format.count(1204), '1,204'], [format.count(1234567), '1,234,567'], [format.count(999), '999'], [format.plural(1, 'node'), '1 node'],
		[format.plural(2, 'node'), '2 nodes'], [format.energy(14760000), '4.10 kWh'], [format.spoken(1800), '30 min'], [format.spoken(42), '42 s'], [format.spoken(0.5), '0.50 s']])
		if (wanted instanceof RegExp)
			assert.match(got, wanted);
		else
			assert.equal(got, wanted);
});

test('the end of an axis is above the highest value, and not far', () => {
	for (let v = 1e-6; v < 1e9; v *= 1.37)
		for (const up of [format.roundUp, format.roundUpSize])
			assert.ok(up(v) >= v && up(v) <= 1.7 * v, `${v}: ${up(v)}`);
	assert.ok(format.roundUp(0) > 0 && format.roundUp(NaN) > 0 && format.roundUpSize(0) > 0);
});

test('control characters and those that turn the direction of text are shown', () => {
	assert.equal(format.plain('a\u202eb\u0007c\u2028d\u200f'), 'a\\u202eb\\u0007c\\u2028d\\u200f');
	assert.equal(format.plain('Gr\u00fc\u00dfe, \u05d0\u05d1'), 'Gr\u00fc\u00dfe, \u05d0\u05d1');
});

test('numbers of a forged page make no arrays longer than its own', () => {
	const many = reportOf([{ key: 'cpu', units: 1, median: floats(1, 2) }]);

	assert.equal(many.page.lines.n, 2);
	assert.equal(read({ time_budget: { shares: [] }, page: { lines: { n: 1e9, of: [{ units: 1, median: floats(1, 2, 3) }] }, rows: {} } }).page.lines.n, 3);
	assert.deepEqual(unpacked({ job: { rows: { n: 4e9, columns: { job_id: [7], name: null } } } }).job.rows, [{ job_id: 7, name: null }]);
});

test('lines are unpacked; one unit is its own lowest and highest', () => {
	const one = reportOf([{ key: 'cpu', of: 'task', units: 1, median: floats(1, NaN, 3) }]).page.lines.of[0];

	assert.deepEqual([...one.highest], [1, NaN, 3]);
	assert.deepEqual(summary(one, 0, 3), { highest: 3, median: 2, lowest: 1 });
	assert.ok(Number.isNaN(summary(one, 1, 2).highest));
});

test('causes that are rare are one, of the job and of its rows alike, but what one row has much of is shown', () => {
	const of = (kind, name, share) => ({ kind, name, share });
	const { shares, rows } = shown([of('run', 'own code', 0.8), of('stolen', 'stolen', 0), of('quota', 'CPU quota', null), of('blocked', 'futex', 0.17), of('blocked', 'pipe', 0.009), of('blocked', 'poll', 0.006), of('blocked', 'child', 0.005), of('blocked', 'other', 0.01)],
		[[0.8, 0.8], [0, 0], [null, null], [0.19, 0.07], [0, 0.11], [0.004, 0], [0.003, 0.01], [0.003, 0.01]]);

	assert.deepEqual(shares.map((s) => s.name), ['own code', 'futex', 'pipe', 'other']);
	assert.ok(Math.abs(shares.reduce((a, s) => a + s.share, 0) - 1) < 1e-9);
	assert.deepEqual(rows.map((r) => r.length), [2, 2, 2, 2]);
	rows[0].forEach((_, k) => assert.ok(Math.abs(rows.reduce((a, r) => a + r[k], 0) - 1) < 1e-9));
});

test('parts that are next to nothing of the job and of each row have no place in a bar', () => {
	const of = (name, share) => ({ name, share }), rows = [[0.9, 0.8], [0.0001, 0.1], [0, 0.0004], [0, 0], []];
	const got = present([of('ran', 0.9), of('own task', 0.0001), of('own step', 0.0004), of('own job', 0), of('unknown', null)], rows);

	assert.deepEqual(got.shares.map((s) => s.name), ['ran', 'own task']);
	assert.deepEqual(got.rows, [[0.9, 0.8], [0.0001, 0.1]]);
	assert.deepEqual(present([of('ran', 1)], []).rows, [[]]);
});

test('a part of the time budget that is not known has no bar, neither of the job nor of rows', () => {
	const of = (name, share) => ({ name, share });
	const r = read({ time_budget: { shares: [of('own code', 0.4), of('kernel', null), of('idle', 0.6)] }, page: { lines: { of: [] }, rows: { name: ['0'], shares: [[0.4], [null], [0.6]] } } });

	assert.deepEqual(r.time_budget.shares.map((s) => s.name), ['own code', 'idle']);
	assert.deepEqual(r.page.rows.shares, [[0.4], [0.6]]);
});

test('the fourth line is what the job used: GPU, network, fabric, disk', () => {
	const line = (key, v) => ({ key, of: 'node', units: 1, median: floats(v, v, v) });
	const keys = (...l) => choose(reportOf(l).page.lines.of).map((ls) => ls.map((x) => x.key));

	assert.deepEqual(keys(line('cpu', 1), line('net', 0), line('fabric', 2), line('blk', 3)), [['cpu', 'fabric'], ['blk']]);
	assert.deepEqual(keys(line('cpu', 1), line('gpu', 0), line('net', 1)), [['cpu', 'gpu'], ['net']]);
	assert.deepEqual(keys(), [[], []]);
});

const rows = reportOf([], { of: 'task', name: ['0', '1', '2', '3'], node: ['n1', 'n1', 'n2', 'n02'], cells: 2, dt_s: 10,
	of_time: { cpu: { max: 2, bytes: bytes(0, 250, 125, UNKNOWN, 25, 100, 0, 0) }, wait: { max: 1, bytes: bytes(0, 250, 100, 0, 225, 50, UNKNOWN, 0) } } }).page.rows;

test('a cell is a part of the highest value, and may be not known', () => {
	assert.equal(LEVELS, 250);
	assert.equal(cell(rows, 'cpu', 0, 1), 2);
	assert.equal(cell(rows, 'cpu', 1, 0), 1);
	assert.ok(Number.isNaN(cell(rows, 'cpu', 1, 1)) && Number.isNaN(cell(rows, 'io', 0, 0)));
});

test('the state of a cell is what had most of the cores: CPU, wait, disk, idle', () => {
	assert.deepEqual(stateOf(rows, 0, 0), [3, 1]);
	assert.deepEqual(stateOf(rows, 0, 1), [0, 1]);
	assert.equal(stateOf(rows, 1, 1)[0], -1);
	assert.deepEqual(stateOf(rows, 2, 0), [1, 0.8]);
	assert.deepEqual(stateOf(rows, 1, 0), [0, 1]);
	assert.deepEqual(stateOf(rows, 3, 0), [3, 1]);
});

test('the rows that a finding names', () => {
	const of = (where) => { const s = rowsOf(rows, where); return s && [...s]; };

	assert.deepEqual(of('ranks 0-1 on n1'), [0, 1]);
	assert.deepEqual(of('rank 2'), [2]);
	assert.deepEqual(of('ranks 0,2-3'), [0, 2, 3]);
	assert.deepEqual(of('n1'), [0, 1]);
	assert.deepEqual(of('n1-n2'), null); // all are none in particular
	assert.deepEqual(of(''), null);
	assert.deepEqual(of('x[(*\\'), null);
	const gpus = { of: 'GPU', n: 4, name: ['0', '1', '0', '1'], node: ['n1', 'n1', 'n2', 'n2'] };

	assert.deepEqual([...rowsOf(gpus, 'GPU 1 on n2')], [3]);
	assert.deepEqual([...rowsOf(gpus, 'GPUs 0-1 on n1')], [0, 1]);
});

test('quantiles of a histogram are upper bounds of its buckets', () => {
	const counts = new Array(40).fill(0);

	counts[10] = 98;
	counts[20] = 2;
	assert.equal(quantile(counts, 0.5), 2 ** 11 / 1e9);
	assert.equal(quantile(counts, 0.99), 2 ** 21 / 1e9);
	assert.ok(Number.isNaN(quantile(new Array(40).fill(0), 0.5)));
});

test('a finding zooms to its time, again goes back, and the address keeps it', () => {
	const v = new View(1000), f = { times: [[100, 200]] };
	let shown = 0;

	v.onShow(() => shown++);
	v.pick(0, f);
	assert.deepEqual([v.finding, v.from, v.to, shown], [0, 90, 210, 1]);
	const other = new View(1000);

	other.load(`#${v.address()}`, 1, 1);
	assert.deepEqual([other.finding, other.from, other.to], [0, 90, 210]);
	v.pick(0, f);
	assert.deepEqual([v.finding, v.from, v.to, v.address()], [-1, 0, 1000, '']);
	v.pick(0, { times: [] });
	assert.ok(v.isWhole && v.finding === 0);
});

test('a finding of several times zooms to each of them in turn, from an address, too', () => {
	const v = new View(1000), f = { times: [[0, 10], [100, 200.0004], [990, 1000]] }, g = { times: [] }, seen = [];
	const look = (x) => [x.finding, Math.round(x.from), Math.round(x.to)];

	for (let i = 0; i < 5; i++) {
		v.pick(2, f);
		seen.push(look(v));
	}
	assert.deepEqual(seen, [[2, 0, 11], [2, 90, 210], [2, 989, 1000], [-1, 0, 1000], [2, 0, 11]]);
	v.pick(2, f);
	const other = new View(1000);

	other.load(v.address(), 3, 1);
	other.pick(2, f);
	assert.deepEqual(look(other), [2, 989, 1000]);
	v.zoom(300, 400);
	v.pick(2, f);
	assert.deepEqual(look(v), [-1, 0, 1000]);
	v.pick(0, g);
	v.pick(1, f);
	assert.deepEqual(look(v), [1, 0, 11]);
});

test('the page says one time from when to when, and of several two and how many more', () => {
	const clock = clockOf(3600, 10), report = { coverage: { bin_s: 10 } }, time = (i) => [300 * i, 300 * i + 90];
	const said = (n) => when({ times: Array.from({ length: n }, (_, i) => time(i + 1)) }, report, clock);

	assert.deepEqual([0, 1, 2, 3, 4, 8].map(said), ['', 'From 5:00 to 6:30 of the run.', 'At 5:00 and 10:00 of the run.', 'At 5:00, 10:00 and 1 more time of the run.',
		'At 5:00, 10:00 and 2 more times of the run.', 'At 5:00, 10:00 and 6 times or more of the run.']);
});

test('what an address says that is not true of the job is ignored', () => {
	for (const bad of ['#finding=7&row=9&from=-5&to=1e9', '#finding=x', '#from=9&to=3', '#%%%', '#at=NaN&row=-1', '#finding=1e300']) {
		const v = new View(100);

		v.load(bad, 2, 3);
		assert.deepEqual([v.finding, v.row, v.from, v.to, Number.isNaN(v.pin)], [-1, -1, 0, 100, true], bad);
	}
});

test('a window is never narrower than can be drawn', () => {
	const v = new View(1000);

	v.zoom(10, 10.01);
	assert.ok(v.isWhole);
	v.zoom(300, 100);
	assert.deepEqual([v.from, v.to], [100, 300]);
	v.zoom(-50, 5000);
	assert.ok(v.isWhole);
});

const clockOf = (end_s, dt_s) => new Clock({ job: { start: null }, facts: {}, page: { lines: { end_s, dt_s } } });

// Of "17.25 s", "2.5 ms" and "1:02:05.5".
function secondsOf(text) {
	const [, number, unit] = /^([\d.:]+)(?: (m?s))?$/.exec(text);

	return number.split(':').reduce((all, part) => 60 * all + Number(part), 0) * (unit === 'ms' ? 1e-3 : 1);
}

test('ticks are round and few', () => {
	const c = clockOf(5000, 10);

	for (const [from, to] of [[0, 5000], [0, 20], [100, 101], [0, 1e7]]) {
		const { ticks } = c.ticks(from, to, 8);

		assert.ok(ticks.length <= 9 && ticks.every((t) => t >= from && t <= to), `${from} to ${to}: ${ticks}`);
	}
	assert.equal(c.text(90), '90 s');
});

test('labels of an axis are all different, and as near to their instants as the step tells', () => {
	for (const [from, to] of [[0, 25], [10.9, 11.6], [11.01, 11.09], [98.7, 101.3], [0, 0.0059], [3599, 3600.8], [5, 7000]])
		for (const most of [2, 5, 13]) {
			const c = clockOf(7200, 1), { ticks, step } = c.ticks(from, to, most), texts = ticks.map((t) => c.text(t, step));

			assert.equal(new Set(texts).size, texts.length, `${from} to ${to}: ${texts}`);
			for (const [i, t] of ticks.entries())
				assert.ok(Math.abs(secondsOf(texts[i]) - t) < 1e-3 * step, `${texts[i]} is not ${t}`);
		}
});

test('an instant has the digits of what it is told from', () => {
	for (const [s, step, wanted] of [[11.25, 0.25, '11.25 s'], [11.25, 1, '11 s'], [11.96, 0.1, '12.0 s'], [125.5, 0.5, '2:05.5'], [119.999, 0.1, '2:00.0'], [3725, 1, '1:02:05'],
		[0, 0.1, '0 s'], [0.0025, 0.0005, '2.5 ms'], [3, 1.5, '3.0 s'], [NaN, 1, '?'], [17.1, NaN, '17.1 s']])
		assert.equal(format.instant(s, step), wanted);
	const c = clockOf(20, 1), day = new Clock({ job: { start: Date.parse('2026-03-02T10:00:00') / 1000 }, facts: {}, page: { lines: { end_s: 7200, dt_s: 2 } } });

	assert.deepEqual([c.text(12), c.at(7.1692), c.span(10.87, 11.13), c.at(5, 0)], ['12 s', '7.2 s', '10.87 s to 11.13 s', '5.0 s']);
	assert.deepEqual([day.text(125.26, 0.1), day.text(125.26, 1), day.text(125, 60), day.text(59.96, 0.1)], ['10:02:05.3', '10:02:05', '10:02', '10:01:00.0']);
	assert.equal(spacing([{ begin_s: [0, 0.1, 0.2], end_s: [0.1, 0.2, 5] }, { begin_s: [0], end_s: [30] }, { begin_s: [], end_s: [] }]), 0.1);
});

// The start is written as the clock of a wall in Berlin shows it; in the night to 29 March it goes from 2 to 3.
const berlin = (start, end_s) => new Clock({ job: { start: Date.parse(start) / 1000 }, facts: {}, page: { lines: { end_s, dt_s: 30 } } });

test('a run of days has the time of day on its axis, and the day at midnight and at the ends', (t) => {
	const zone = process.env.TZ;

	t.after(() => { process.env.TZ = zone ?? ''; });
	process.env.TZ = 'Europe/Berlin';
	const texts = (c, from, to, most) => { const { ticks, step } = c.ticks(from, to, most); return ticks.map((s) => c.tick(s, step)); };
	const days = berlin('2026-03-28T13:30:00+01:00', 2 * 86400), night = berlin('2026-03-02T21:30:00+01:00', 6 * 3600), short = berlin('2026-03-02T23:58:00+01:00', 300);

	assert.deepEqual(texts(days, 0, 2 * 86400, 8), ['18:00', 'Mar 29', '06:00', '12:00', '18:00', 'Mar 30', '06:00', '12:00']);
	assert.deepEqual(texts(days, 0.4 * 86400, 0.7 * 86400, 5), ['Mar 29', '01:00', '04:00', '06:00']);
	assert.deepEqual([days.text(0, 60), days.text(2 * 86400, 60)], ['Mar 28 13:30', 'Mar 30 14:30']);
	assert.deepEqual([days.span(0, 3600), days.span(0, 86400)], ['Mar 28 13:30:00 to 14:30:00', 'Mar 28 13:30:00 to Mar 29 14:30:00']);
	assert.deepEqual(texts(berlin('2026-03-01T12:00:00+01:00', 5 * 86400), 0, 5 * 86400, 6), ['Mar 2', 'Mar 3', 'Mar 4', 'Mar 5', 'Mar 6']);
	assert.deepEqual([texts(night, 0, 6 * 3600, 6), night.text(0, 60), night.span(0, 3600)], [['22:00', '23:00', 'Mar 3', '01:00', '02:00', '03:00'], '21:30', '21:30:00 to 22:30:00']);
	assert.deepEqual(texts(short, 0, 300, 5), ['0 s', '60 s', '2:00', '3:00', '4:00', '5:00']);
});

test('lines at the ends of an axis are a pixel and more inside of the plot', () => {
	for (const [low, high, height] of [[0, 1, 52], [0, 4096, 300], [-5, 5, 84]]) {
		const [bottom, top] = inside(low, high, height), pixels = (v) => v / (top - bottom) * height;

		assert.ok(pixels(low - bottom) >= 1 && pixels(low - bottom) < 2 && pixels(top - high) >= 1 && pixels(top - high) < 2);
	}
});

test('a waterfall goes from term to term, and leaves out what is part of another or not there', () => {
	const term = (id, s, more = {}) => ({ id, s, a: 0, b: 0, part_of: null, ...more });
	const rows = steps([term('work', 5), term('ipc', null, { part_of: 'work' }), term('cores', 0), term('disk', -2), term('futex', 0, { a: 0.05, b: 0.05 }), term('tail', 0, { a: 1 })], 100);

	assert.deepEqual(rows.map((r) => [r.term.id, r.from, r.to]), [['work', 100, 105], ['disk', 105, 103], ['tail', 103, 103]]);
});

test('a phase ends with the next mark of its step, the last one with the step', () => {
	const marks = [[1, 'a', '0'], [2, 'b', '1'], [4, 'c', '0'], [30, 'd', '1']].map(([at_s, name, step]) => ({ at_s, name, step }));
	const lanes = lanesOf({ page: { lines: { end_s: 25 } }, job: { steps: [{ name: '0', end_s: 9 }, { name: '1', end_s: null }] }, marks: { of: marks } });

	assert.deepEqual(lanes.map((l) => [l.step, l.phases.map((p) => [p.mark.name, p.from, p.to])]), [['0', [['a', 1, 4], ['c', 4, 9]]], ['1', [['b', 2, 30], ['d', 30, 30]]]]);
	assert.deepEqual(lanesOf({ page: { lines: { end_s: 25 } }, job: { steps: [] } }), []);
});

const FLAME = { labels: ['x'], names: ['main', 'f', 'g'], nodes: [[0, 0, 0], [1, 1, 0], [1, 2, 0], [2, 1, 0]],
	counts: [[0, 10, 2, 3], [0, 10, 3, 1], [0, 20, 4, 4], [0, 20, 1, 2]] };

test('a flame graph: time is that of the interval, and a function that calls itself counts once', () => {
	const nodes = tree(FLAME), [all] = weigh(FLAME, nodes, -1, Infinity), [late] = weigh(FLAME, nodes, 10, 20);

	assert.deepEqual(ends(FLAME), [10, 20]);
	assert.deepEqual(all.total, [10, 10, 7, 1, 4]);
	assert.deepEqual(late.total, [6, 6, 4, 0, 4]);
	assert.deepEqual(functions(nodes, all).map((f) => [f.name, f.self, f.total]), [['f', 7, 7], ['main', 2, 10], ['g', 1, 1]]);
	assert.equal(found(nodes, all, 'F').seconds, 7);
	assert.deepEqual([...found(nodes, all, ' G ').hits], [3]);
	assert.equal(found(nodes, all, ' ').hits.size, 0);
});

test('a flame graph: boxes lie in that of their caller, and what is zoomed to is as wide as the page', () => {
	const nodes = tree(FLAME), runs = weigh(FLAME, nodes, -1, Infinity), at = (list) => Object.fromEntries(list.map((b) => [b.node, b]));
	const whole = at(boxes(nodes, runs, 0)), zoomed = at(boxes(nodes, runs, 2));

	[1, 1, 0.7, 0.1, 0.4].forEach((w, i) => assert.ok(Math.abs(whole[i].width - w) < 1e-9, `${i}: ${whole[i].width}`));
	assert.ok(Math.abs(whole[3].left - 0.7) < 1e-9);
	assert.deepEqual([whole[0].row, whole[1].row, whole[2].row, whole[4].row], [0, 1, 2, 3]);
	assert.deepEqual([zoomed[0].width, zoomed[2].width, zoomed[3]], [1, 1, undefined]);
	assert.ok(Math.abs(zoomed[4].width - 4 / 7) < 1e-9);
});

test('ticks of an axis of times: whatever it spans, two and more, apart, and inside', () => {
	for (let low = 1e-6; low < 10; low *= 7.3)
		for (let ratio = 1.01; ratio < 1e9; ratio *= 1.4)
			for (const pixels of [300, 1000]) {
				const ticks = ticksOf({ low, high: low * ratio, log: true }, pixels, 64), at = ticks.map(([x]) => x * pixels);

				assert.ok(at.length >= 2 || ratio < 30, `${low} ${ratio}: ${ticks}`);
				assert.ok(at.every((x, i) => x >= -1e-6 && x <= pixels + 1e-6 && (!i || x - at[i - 1] > 30)), `${low} ${ratio} ${pixels}: ${ticks.join(' ')}`);
				assert.equal(new Set(ticks.map(([, text]) => text)).size, ticks.length);
			}
	assert.deepEqual(ticksOf({ low: 0.0005, high: 2, log: true }, 300, 64).map(([, text]) => text), ['1 ms', '10 ms', '100 ms', '1 s']);
	assert.deepEqual(ticksOf({ low: 0.1, high: 0.9, log: false }, 300, 64).map(([, text]) => text), ['0.2', '0.4', '0.6', '0.8']);
});
