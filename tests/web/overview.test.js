// SPDX-License-Identifier: GPL-2.0-or-later
// What the pages of usage, findings, I/O and digest compute: node --test tests/web
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { changes, moved } from '../../web/src/digest.js';
import { cumulative, margin, nearest, power, rangeOf as powers, volume } from '../../web/src/io.js';
import { command, tally, verdict } from '../../web/src/sitefindings.js';
import { path } from '../../web/src/spark.js';
import { above, bins, chosen, rangeOf } from '../../web/src/usage.js';
import { wordsOf } from '../../web/src/words.js';

test('a bar of 5 % is the range that the options have, and back', () => {
	for (let i = 0; i < 20; i++)
		assert.deepEqual(bins(rangeOf(i)), [i, i + 1]);
	assert.deepEqual([rangeOf(0), rangeOf(8), rangeOf(19)], ['0-5', '40-45', '95-']);
	assert.deepEqual([bins('10-50'), bins('12-13'), bins('90-'), bins('0-100'), bins('33.3-66.7'), bins('300-')], [[2, 10], [2, 3], [18, 20], [0, 20], [6, 14], [19, 20]]);
	assert.deepEqual([bins(undefined), bins(''), bins('x')], [null, null, null]);
});

test('the way up is the way down, in the order of cluster, project, user, name', () => {
	const args = { since: '7d', user: 'u1', project: 'p1', name: '=run' };

	assert.deepEqual(chosen(args), [['project', 'p1'], ['user', 'u1'], ['name', 'run']]);
	assert.deepEqual(above(args), { ...args, name: null, by: 'name' });
	assert.deepEqual([above({ since: '7d' }), chosen({})], [null, []]);
});

test('cells: margins, cumulative shares, ranges of powers of two, and the next one by a key', () => {
	const cells = [[10, 3, 5], [10, 4, 1], [12, 4, 4]];

	assert.deepEqual(margin(cells, 0).slice(9), [0, 6, 0, 4]);
	assert.deepEqual(margin(cells, 1), [0, 0, 0, 5, 5]);
	assert.deepEqual(cumulative([6, 0, 4]), [0.6, 0.6, 1]);
	assert.deepEqual([power(0), power(9), power(10), power(37), power(60), powers(29)], ['1B', '512B', '1KiB', '128GiB', '1EiB', '512MiB-1GiB']);
	assert.deepEqual([nearest(cells, cells[0], [1, 0]), nearest(cells, cells[0], [0, 1]), nearest(cells, cells[0], [-1, 0])], [cells[2], cells[1], undefined]);
	assert.deepEqual([0, 999, 1536, 12.7 * 2 ** 30, 2 ** 50, null, undefined].map(volume), ['0 B', '999 B', '1.50 KiB', '12.7 GiB', '1 PiB', '?', '?']);
});

test('a line of a cell has gaps where nothing is known', () => {
	assert.equal(path([0, null, 2, 1], 30, 12), 'M0.0 11.0M20.0 1.0L30.0 6.0');
	assert.equal(path([null], 30, 12), '');
});

test('contacts: verdicts with their change, and how many of each', () => {
	const c = (verdict, after = 7, expected = 10) => ({ verdict, lost_after_core_s_week: after, expected_core_s_week: expected, runs_after: 3 });

	assert.deepEqual(verdict(c('helped')), { text: 'helped (\u221230 %)', is: 'bold' });
	assert.deepEqual(verdict(c('worse', 15)), { text: 'worse (+50 %)', is: 'bad' });
	assert.deepEqual(verdict(c('worse', 15, 0)), { text: 'worse', is: 'bad' });
	assert.deepEqual(verdict({ ...c('too early'), runs_after: 1 }), { text: 'too early: 1 run', is: 'soft' });
	assert.equal(verdict(c('no change', 9.99)).text, 'no change (0 %)');
	assert.deepEqual(verdict({ verdict: 'did not run since' }), { text: 'did not run since', is: 'soft' });
	assert.equal(tally([c('helped'), c('worse'), c('no change'), c('too early')]), '1 helped, 2 did not, of 1 nobody can say yet');
	assert.equal(command({ signature: 'ab12', rule: 'my rule\'s' }), 'jobprof contacted ab12 --finding \'my rule\'\\\'\'s\' --ticket T-');
});

test('what changed: better, worse or the same, and nothing where the time before is not known', () => {
	const sums = (lost, held, energy) => ({ jobs: 9, held_core_s: held, profiled_core_s: held, lost_core_s: lost, held_gpu_s: 0, lost_gpu_s: null, energy_j: energy });
	const d = { total: sums(100 * 3600, 1000 * 3600, 7.2e6), before: sums(200 * 3600, 1005 * 3600, null), findings: [{ rule: 'io.wait', cost_core_s: 3600, cost_core_s_before: 2 * 3600 }] };
	const lines = Object.fromEntries(changes(d).map((l) => [l[0], l]));

	assert.deepEqual(lines.Lost.slice(1), ['100 core-h', '200 core-h', 'better', 'waits for files \u22121 core-h']);
	assert.equal(lines.Held[3], 'same');
	assert.ok(!('Energy' in lines) && !('GPU time without work' in lines));
	assert.equal(Object.values(lines).find((l) => l[0].startsWith('Lost share'))[3], 'better');
	assert.deepEqual([changes({ ...d, before: null }), changes({ ...d, before: { jobs: 0 } })], [[], []]);
});

test('each rule has words of its own', () => {
	const rules = [...readFileSync(new URL('../../user/findings/rules.lua', import.meta.url), 'utf8').matchAll(/^rules\["([a-z_.]+)"\]/gm)].map((m) => m[1]);

	assert.ok(rules.length > 30);
	assert.deepEqual(rules.filter((r) => wordsOf(r) === r), []);
	assert.equal(new Set(rules.map(wordsOf)).size, rules.length);
	assert.equal(wordsOf('site.own'), 'site.own');
});

test('the week before a digest is a date of the same clock, whatever that of the browser is', () => {
	assert.deepEqual([moved('2026-11-22', -7 * 86400), moved('2026-03-01', 7 * 86400), moved('2026-11-22', 0)], ['2026-11-15', '2026-03-08', '2026-11-22']);
	assert.deepEqual([moved('2026-11-28 23:30', -86400), moved('2026-01-01 00:10', -1200)], ['2026-11-27T23:30', '2025-12-31T23:50']);
});
