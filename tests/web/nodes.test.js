// SPDX-License-Identifier: GPL-2.0-or-later
// What the pages of nodes make of their JSON, and the check of the site's pages that tests/web/site-truth.js is.
import assert from 'node:assert/strict';
import test from 'node:test';
import { browser } from './fake.js';
import { wrongCell } from './site-truth.js';

browser('{"root":""}');
const { onlyOne, pageOf } = await import('../../web/src/find.js');
const { packed, taken } = await import('../../web/src/node.js');
const { levelOf, rowAt, rowsOf } = await import('../../web/src/nodemap.js');
const { extent, runs, shownSteps } = await import('../../web/src/series.js');
const { difference, kindsOf, seenIn } = await import('../../web/src/system.js');

const bytes = (...v) => Buffer.from(v).toString('base64');

test('what changed: a difference of jobs, times and shares, and of amounts a part', () => {
	const said = (unit, change, verdict) => { const e = difference({ unit, change, verdict }); return e.textContent ?? e; };

	assert.deepEqual([said('jobs', 3, 'worse'), said('s', -420, 'better'), said('share', 0.034, 'better'), said('core-s', 0.74, 'worse'), said('J', 0, 'same'), said('J', null)],
		['+3 worse', '\u22127 min better', '+3.4 points better', '+74 % worse', '0 %', 'not known']);
});

test('jobs of a node that were there at once are in lanes of their own', () => {
	const job = (start, end) => ({ start, end }), [a, b, c, d] = [job(0, 10), job(5, 20), job(10, 30), job(25, null)];

	assert.deepEqual(packed([c, a, d, b]), [[a, c], [b, d]]);
	assert.deepEqual(packed([job(0, null), job(50, 60)]).length, 2);
	assert.deepEqual(packed([]), []);
});

test('what a job lost to others is known where the ledger has it', () => {
	const d = { ledger: { rows: [{ job_id: 7, by_job_s: [null, 30, 10], other_job_s: 5 }] } };

	assert.equal(taken({ job_id: 7, cpu_s: 400, wait_s: 50 }, d), 0.1);
	assert.ok(Number.isNaN(taken({ job_id: 8, cpu_s: 400, wait_s: 50 }, d)) && Number.isNaN(taken({ job_id: 7, cpu_s: null, wait_s: 50 }, d)));
});

test('steps that are not known are no part of a mean, and gaps are runs of them', () => {
	const line = [1, null, null, 0, 5];

	assert.deepEqual(runs(line, (v) => v === null), [[1, 3]]);
	assert.deepEqual(runs(line, (v) => v !== null), [[0, 1], [3, 5]]);
	assert.deepEqual(extent(line, 0, 5), { highest: 5, mean: 2, lowest: 0 });
	assert.ok(Number.isNaN(extent(line, 1, 3).mean));
	assert.deepEqual(shownSteps({ from: 0, to: 10 }, 300, 5), [0, 1]);
	assert.deepEqual(shownSteps({ from: 300, to: 900 }, 300, 5), [1, 3]);
});

test('a map of nodes has a row for each, by kind, and of many nodes one for several', () => {
	const nodes = (n) => ({ nodes: Array.from({ length: n }, (_, i) => ({ node: `n${i}`, kind: i % 2 })) });
	const few = rowsOf(nodes(4)), many = rowsOf(nodes(2500));

	assert.deepEqual(few.map((r) => r.nodes), [[0], [2], [1], [3]]);
	assert.ok(few[2].y - few[1].y > few[1].h && few[1].y === few[0].h);
	assert.equal(rowAt(few, few[3].y + 1), 3);
	assert.equal(rowAt(few, -5), 0);
	assert.ok(many.length <= 1000 && many.every((r) => new Set(r.nodes.map((i) => i % 2)).size === 1) && many.flatMap((r) => r.nodes).length === 2500);
});

test('a byte of the map is a level, or a word', () => {
	const heat = { code_not_known: 254, code_no_job: 253, levels: 200, power: { top: 900, bytes: bytes(100, 254, 253, 0) } };

	assert.deepEqual([0, 1, 2, 3, 4].map((i) => levelOf(heat, 'power', i)), [{ value: 450 }, { value: null, word: 'not known' }, { value: null, word: 'no job' }, { value: 0 }, { value: null, word: 'not known' }]);
});

test('the check of pages against their JSON sees a number that differs by a digit', () => {
	for (const [text, value, unit, key] of [['12.3', 12.34 * 3600, 'core-h', 'held_core_s'], ['1,234', 1233.6 * 3600, 'core-h', 'lost_core_s'], ['31', 0.314, '%', 'cpu_share'], ['2.1', 0.0209, '%', 'cpu_share'], ['3:05', 11130, 'h:min', 'elapsed_s'],
		['11-29 20:15', 1795983359 + 0, '', 'start'], ['87.9 GiB', 90000, 'peak', 'memory_mb'], ['?', null, '', 'gpu_share'], ['node fail', 'NODE_FAIL', '', 'state'], ['<0.001', 0.5, 'core-h', 'lost_core_s']])
		assert.equal(wrongCell(text, key === 'start' ? Date.UTC(2026, 10, 29, 20, 15, 40) / 1000 : value, unit, key, {}), '', text);
	for (const [text, value, unit, key] of [['12.4', 12.34 * 3600, 'core-h', 'held_core_s'], ['32', 0.314, '%', 'cpu_share'], ['3:07', 11130, 'h:min', 'elapsed_s'], ['87.8 GiB', 90000, 'peak', 'memory_mb'], ['0', null, '', 'gpu_share'], ['failed', 'TIMEOUT', '', 'state']])
		assert.notEqual(wrongCell(text, value, unit, key, {}), '', text);
});

test('what is found alone opens at once', () => {
	const row = (what, name, has_profile = 0) => ({ what, name, has_profile });

	assert.equal(onlyOne({ word: 'n1', rows: [row('node', 'n1')] }), 'node?node=n1');
	assert.equal(onlyOne({ word: '7', rows: [row('job', '7', 1)] }), 'job/7');
	assert.equal(onlyOne({ word: '7', rows: [row('job', '7')] }), 'jobs?jobs=7');
	assert.equal(onlyOne({ word: '7', rows: [row('running', '7', 1)] }), 'running?jobs=7');
	assert.equal(onlyOne({ word: '7', rows: [row('job', '7', 1), row('running', '7', 1)] }), null);
	assert.equal(onlyOne({ word: 'ann', rows: [row('user', 'anna')] }), null);
	assert.equal(onlyOne({ word: 'a', rows: [row('user', 'a'), row('name', 'a')] }), null);
	assert.equal(onlyOne({ word: 'a', rows: [] }), null);
	assert.deepEqual(Object.fromEntries(new URLSearchParams(pageOf(row('name', 'a&b=c')).split('?')[1])), { name: '=a&b=c', since: '30d' });
});

test('a slow node names the jobs that it had, and a kind that is not known has no size', () => {
	const text = (parts) => [parts].flat(4).map((x) => x.textContent ?? x).join('');

	assert.equal(text(seenIn({ seen_in: [{ name: 'lmp', runs: 3 }, { name: '', runs: 1 }] })), 'lmp 3\u00d7, ?');
	assert.equal(text(seenIn({ seen_in: [] })), '\u2013');
	assert.equal(kindsOf({ kinds: [{ model: 'EPYC', cores: 64, memory_mb: null }, { model: null, cores: null, memory_mb: null }], nodes: [{ kind: 0 }, { kind: 1 }, { kind: 1 }] }),
		'From above: 1 node of EPYC (64 cores); 2 nodes of a kind that is not known. ');
	assert.equal(kindsOf({ kinds: [{}], nodes: [{}] }), '');
});
