// SPDX-License-Identifier: GPL-2.0-or-later
// The report that stands in the page, with its arrays unpacked.

function bytes(text) {
	const raw = atob(text), out = new Uint8Array(raw.length);

	for (let i = 0; i < raw.length; i++)
		out[i] = raw.charCodeAt(i);
	return out;
}

// Little-endian, as all machines with browsers are.
const floats = (text) => new Float32Array(bytes(text).buffer);

export const UNKNOWN = 255; // of a cell; LEVELS is its highest value
export const LEVELS = 250;

function unpackLine(line) {
	const median = floats(line.median);

	return { ...line, median, lowest: line.lowest ? floats(line.lowest) : median,
		highest: line.highest ? floats(line.highest) : median, isOne: !line.lowest };
}

function unpackRows(rows) {
	const cells = {};

	for (const [key, c] of Object.entries(rows.of_time ?? {}))
		cells[key] = { max: c.max, bytes: bytes(c.bytes) };
	return { ...rows, n: rows.name?.length ?? 0, of_time: cells };
}

// The parts of the time budget that are known, of the job and of its rows alike.
function keepKnown(report) {
	const { time_budget: budget, page } = report, all = budget.shares;

	budget.shares = all.filter((s) => s.share !== null);
	page.rows.shares = page.rows.shares?.filter((_, i) => all[i]?.share !== null);
}

// Unpacks the arrays of a report in place. A page that lies in a file is its owner's: no number makes arrays longer than those that are there.
export function read(report) {
	const { page } = report;

	keepKnown(report);

	page.lines.of = page.lines.of.map(unpackLine);
	page.lines.n = Math.min(page.lines.n, Math.max(0, ...page.lines.of.map((l) => l.median.length)));
	page.rows = unpackRows(page.rows);
	page.gpu_rows = unpackRows(page.gpu_rows ?? {});
	return report;
}

// A cell's value, or NaN.
export function cell(rows, key, row, at) {
	const c = rows.of_time[key], level = c ? c.bytes[row * rows.cells + at] : UNKNOWN;

	return level === UNKNOWN || level === undefined ? NaN : level / LEVELS * c.max;
}

const STATES = ['cpu', 'wait', 'disk'];
const LEAST = 0.02; // a part below which a cell is idle

// Which of cpu, wait, disk (0 to 2) had most of a row's cores in a cell, and what part of them; 3: none had, all
// are idle; -1: not known.
export function stateOf(rows, row, at) {
	let best = -1, most = -1, rest = 1;

	for (let k = 0; k < STATES.length; k++) {
		const v = cell(rows, STATES[k], row, at);

		if (Number.isNaN(v)) {
			if (k === 0)
				return [-1, NaN];
			continue;
		}
		const part = Math.min(v, Math.max(0, rest));

		rest -= part;
		if (part > most)
			[best, most] = [k, part];
	}
	return most < LEAST ? [3, 1] : [best, most];
}

// "0-15,20" as a test of numbers.
function inRanges(text) {
	const ranges = text.split(',').map((part) => part.split('-').map(Number));

	return (n) => ranges.some(([from, to]) => n >= from && n <= (to ?? from));
}

function inNames(text) {
	const tests = text.split(',').map((part) => {
		const range = /^(.*?)(\d+)-\1(\d+)$/.exec(part);

		if (!range)
			return (name) => name === part;
		return (name) => {
			const m = /^(.*?)(\d+)$/.exec(name);

			return m !== null && m[1] === range[1] && +m[2] >= +range[2] && +m[2] <= +range[3];
		};
	});

	return (name) => tests.some((test) => test(name));
}

// The rows that a finding's `where` names ("ranks 0-15 on n1", "n3"), as a set of their places; null: all.
export function rowsOf(rows, where) {
	const ranks = (rows.of === 'GPU' ? /^GPUs? ([\d,-]+)/ : /^ranks? ([\d,-]+)/).exec(where), on = / on (.+)$/.exec(where);
	const chosen = new Set();
	let test;

	if (!where || !rows.n)
		return null;
	if (rows.of !== 'node' && ranks) {
		const has = inRanges(ranks[1]), there = rows.of === 'GPU' && on ? inNames(on[1]) : () => true;

		test = (i) => has(Number(rows.name[i])) && there(rows.node[i]);
	} else {
		const has = inNames(on ? on[1] : where.replace(/ and .* more$/, ''));

		test = (i) => has(rows.of === 'node' ? rows.name[i] : rows.node[i]);
	}
	for (let i = 0; i < rows.n; i++)
		if (test(i))
			chosen.add(i);
	return chosen.size && chosen.size < rows.n ? chosen : null;
}

// Upper bound, in seconds, of the bucket in which the q-th part of a histogram of 2^k ns ends.
export function quantile(counts, q) {
	const all = counts.reduce((a, n) => a + n, 0);
	let sum = 0;

	for (let k = 0; k < counts.length; k++) {
		sum += counts[k];
		if (all > 0 && sum >= q * all)
			return 2 ** (k + 1) / 1e9;
	}
	return NaN;
}
