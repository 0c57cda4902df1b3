// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of jobs in the page: arrays as one row, which rows a filter keeps, sums; and what home says of months and findings.
import assert from 'node:assert/strict';
import test from 'node:test';

// site.js reads what the server says when it is loaded.
globalThis.document = { getElementById: () => ({ textContent: JSON.stringify({ page: 'jobs', arguments: {}, now: 1764460800, words: { tag: ['a', 'b', 'c'] }, prices: { currency: 'EUR', core_h: 0.02, gpu_h: 0.5 } }) }), addEventListener() {} };
const { folded, narrower, range, sumsOf, toggle } = await import('../../web/src/joblist.js');
const { before, capital } = await import('../../web/src/format.js');
const { monthOf, observed } = await import('../../web/src/home.js');
const { sorted, unpacked } = await import('../../web/src/rows.js');
const { address, costs, kwh, money } = await import('../../web/src/site.js');

const row = (job_id, more = {}) => ({ job_id, cluster: 'c', array_id: null, array_task: null, user: 'u1', account: 'p1', state: 'COMPLETED', partition: 'batch', nodes: 1, cores: 8, start: 1000 + job_id, elapsed_s: 3600, held_core_s: 100, lost_core_s: 10,
	cpu_share: 0.5, findings: 1, tags: 0, ...more });
const ids = (rows) => rows.map((r) => r.job_id);

test('tasks of an array are one row: sums, means by what they held, how many failed, the worst finding', () => {
	const tasks = [row(7, { array_id: 5, array_task: 0 }), row(8, { array_id: 5, array_task: 1, held_core_s: 300, lost_core_s: 30, cpu_share: 0.9, worst_text: 'worst', state: 'FAILED' }), row(5, { array_id: 5, array_task: 2, lost_core_s: null, cpu_share: null })];
	const list = folded([row(3), tasks[0], row(4), tasks[1], row(9, { array_id: 5, cluster: 'd' }), tasks[2]]), a = list[1];

	assert.deepEqual(ids(list), [3, 5, 4, 9]);
	assert.deepEqual([a.tasks.length, a.held_core_s, a.lost_core_s, a.failed, a.state, a.worst_text, a.start], [3, 500, 40, 1, '1 failed', 'worst', 1008]);
	assert.ok(Math.abs(a.cpu_share - (0.5 * 100 + 0.9 * 300) / 400) < 1e-12);
	assert.equal(a.energy_j, null);
	assert.ok(toggle(a) && a.opened.length === 3 && a.opened[0].of === a && toggle(a) && a.opened === null && !toggle(list[0]));
});

test('rows that come by column are the rows that the verbs print', () => {
	const { jobs, days, apps } = unpacked({ jobs: { matching: 2, rows: { n: 3, columns: { job_id: [1, 2, 3], name: ['a', null, 'b'], user: { of: ['ada'], at: [0, null, 0] }, energy_j: null } } }, days: { rows: [{ day: 1 }] }, apps: null });

	assert.deepEqual([jobs.matching, jobs.rows, days.rows, apps], [2, [{ job_id: 1, name: 'a', user: 'ada', energy_j: null }, { job_id: 2, name: null, user: null, energy_j: null }, { job_id: 3, name: 'b', user: 'ada', energy_j: null }], [{ day: 1 }], null]);
	assert.deepEqual(unpacked({ jobs: { rows: { n: 0, columns: { job_id: null } } } }).jobs.rows, []);
});

test('a column sorts with what is not known last, then the newest', () => {
	const rows = [row(1, { v: 2 }), row(2, { v: null }), row(3, { v: 5 }), row(4, { v: 2 }), row(5, {})];

	assert.deepEqual(ids(sorted(rows, { key: 'v' }, true)), [3, 4, 1, 5, 2]);
	assert.deepEqual(ids(sorted(rows, { key: 'v' }, false)), [4, 1, 3, 5, 2]);
});

test('what a filter keeps is what the verb would', () => {
	const rows = [row(1, { user: 'u2', nodes: 4 }), row(2, { state: 'CANCELLED by 1000', findings: 0 }), row(3, { array_id: 2, tags: 6, elapsed_s: 30 }), row(4, { findings: null, nodes: null, partition: 'gpu' })];
	const kept = (args, had = { since: '7d' }) => {
		const is = narrower(had, { since: '7d', ...args });

		return is && ids(rows.filter(is));
	};

	for (const [args, want] of [[{}, [1, 2, 3, 4]], [{ user: 'u2,u3' }, [1]], [{ state: 'cancelled' }, [2]], [{ finding: 'any' }, [1, 3]], [{ finding: 'none' }, [2]], [{ finding: 'unknown' }, [4]], [{ tag: 'b' }, [3]], [{ tag: 'a' }, []],
		[{ nodes: '4' }, [1]], [{ nodes: '2-' }, [1]], [{ nodes: '1-3' }, [2, 3]], [{ ran: '1m-' }, [1, 2, 4]], [{ ran: '30s' }, [3]], [{ jobs: '2' }, [2, 3]], [{ partition: 'gpu', finding: 'unknown' }, [4]], [{ sort: 'nodes' }, [1, 2, 3, 4]]])
		assert.deepEqual(kept(args), want, JSON.stringify(args));
});

test('what rows of the page cannot tell is asked of the server', () => {
	for (const [had, args] of [[{}, { finding: 'cpu.unused' }], [{}, { name: 'x' }], [{}, { node: 'n1' }], [{ user: 'a' }, {}], [{ user: 'a' }, { user: 'b' }], [{ since: '7d' }, { since: '24h' }], [{}, { state: 'TO' }], [{}, { jobs: '7' }], [{}, { user: '@me' }], [{}, { nodes: 'x' }],
		[{}, { 'cpu-share': '0-10' }]])
		assert.equal(narrower(had, args), null, JSON.stringify([had, args]));
});

test('ranges are the verbs\u2019', () => {
	for (const [text, v, want] of [['4', 4, true], ['4', 5, false], ['4-', 1e9, true], ['4-6', 6, true], ['4-6', 7, false]])
		assert.equal(range(text)(v), want, `${text} ${v}`);
	for (const text of ['', '-', 'x', '6-4', '4-x'])
		assert.equal(range(text), null, text);
});

test('sums know what is not known', () => {
	const s = sumsOf([row(1), row(2, { findings: null, lost_core_s: null })]);

	assert.deepEqual([s.held_core_s, s.lost_core_s, s.without_profile_core_s, s.energy_j], [200, 10, 100, null]);
	assert.deepEqual([costs(3600, 7200), costs(null, null), costs(null, 3600), money(null), money(0.2), money(1234.4), kwh(3.6e6), kwh(null)], [1.02, null, 0.5, '?', '<1 EUR', '1,234 EUR', '1.00 kWh', '?']);
});

test('a month is compared with the same days of the last one', () => {
	const days = ['2026-10-28', '2026-10-29', '2026-10-30', '2026-11-01', '2026-11-29'].map((day) => ({ day }));

	assert.deepEqual(monthOf(days, '2026-10', 29).map((d) => d.day), ['2026-10-28', '2026-10-29']);
	assert.deepEqual(monthOf(days, '2026-11', 29).length, 2);
});

test('of many jobs: what was seen, and what follows', () => {
	assert.deepEqual(observed({ text: '5 of 1,072 jobs: asked 16 GiB, used at most 1.2 GiB; #SBATCH --mem=2G would have been safe in 5 of 5 jobs' }), ['asked 16 GiB, used at most 1.2 GiB', '#SBATCH --mem=2G would have been safe in 5 of 5 jobs']);
	assert.deepEqual(observed({ text: '1 of 1 job: 0.5 % of the time. Do this' }), ['0.5 % of the time', 'Do this']);
	assert.deepEqual(observed({ text: '1 of 1 task: all is said.' }), ['all is said', '']);
});

test('an address has the arguments that are set', () => {
	assert.equal(address('jobs', { user: '@me', since: '7d', name: '', sort: null }), 'jobs?user=@me&since=7d');
	assert.equal(address('jobs', { name: '=a b&c' }), 'jobs?name=%3Da+b%26c');
});

test('a command that is shown by itself is not in the words before it', () => {
	for (const [text, code, left] of [['ask for whole nodes: #SBATCH --exclusive', '#SBATCH --exclusive', 'ask for whole nodes:'], ['use less', null, 'use less'], ['set A=1, then run', 'A=1', 'set A=1, then run'], ['', 'x', '']])
		assert.equal(before(text, code), left);
	assert.deepEqual(['other jobs', ''].map(capital), ['Other jobs', '']);
});
