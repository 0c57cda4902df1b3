// SPDX-License-Identifier: GPL-2.0-or-later
// Running jobs, as far as no browser is needed: node --test
import assert from 'node:assert/strict';
import test from 'node:test';
import { idOf, isNeeded, path } from '../../web/src/running.js';

test('a job needs somebody that loses a core or more, or whose memory will be full', () => {
	assert.deepEqual([{ losing_cores: 1 }, { losing_cores: 0.99 }, { losing_cores: null }, { losing_cores: null, full_at: 7 }].map(isNeeded), [true, false, false, true]);
});

test('a task of an array is called by it', () => {
	assert.deepEqual([{ job_id: 12, array_id: null, array_task: null }, { job_id: 12, array_id: 9, array_task: 0 }].map(idOf), ['12', '9_0']);
});

test('the line of CPU is in pieces where it is not known, from 0 to 100 %', () => {
	assert.equal(path([0, 50, null, 100, 130], 40, 12), 'M0.0 11.0L10.0 6.0M30.0 1.0L40.0 1.0');
	assert.equal(path([null], 40, 12), '');
});
