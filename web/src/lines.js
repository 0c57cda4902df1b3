// SPDX-License-Identifier: GPL-2.0-or-later
// What each line over time is called, measured in and made of; and which four are on the first screen.
import { mb, number, power, rate, roundUp, roundUpSize, share } from './format.js';

const cores = (v) => number(v);

// each: what stands below the name; top: the end of the axis for a highest value
export const LINES = {
	cpu: { name: 'CPU', each: (of) => `cores each ${of}`, text: cores, top: roundUp, source: 'CPUTime', unit: 'cores' },
	memory: { name: 'Memory', each: (of) => `each ${of}`, text: mb, top: roundUpSize, source: 'RSS; of nodes MemAnonMB + MemShmemMB + MemKernelMB' },
	io: { name: 'Read + write', each: (of) => `each ${of}`, text: rate, top: roundUpSize, source: 'ReadMB + WriteMB' },
	gpu: { name: 'GPU', each: () => 'use of each', text: share, top: () => 1, source: 'Utilization of GPU' },
	net: { name: 'Network', each: (of) => `${of}, in + out`, text: rate, top: roundUpSize, source: 'NetTxMB + NetRxMB' },
	fabric: { name: 'Fabric', each: (of) => `${of}, in + out`, text: rate, top: roundUpSize, source: 'TxMB + RxMB of Port' },
	blk: { name: 'Disk requests', each: (of) => `each ${of}`, text: rate, top: roundUpSize, source: 'BlkReadMB + BlkWriteMB' },
	wait: { name: 'Wait for CPU', each: (of) => `threads each ${of}`, text: number, top: roundUp, source: 'RunDelay' },
	disk_wait: { name: 'Wait for disk', each: (of) => `threads each ${of}`, text: number, top: roundUp, source: 'OffCPUDisk' },
	power: { name: 'Power', each: (of) => `each ${of}`, text: power, top: roundUp, source: 'StepEnergy' },
};

const ROOM = 1.5; // pixels

// The axis of a plot of so many pixels, on which lines at its ends are inside and not cut.
export function inside(low, high, height) {
	const room = (high - low) * ROOM / Math.max(20, height - 2 * ROOM);

	return [low - room, high + room];
}

const LEAST = 1e-9;

export function highest(line, from = 0, to = line.highest.length) {
	let most = NaN;

	for (let i = from; i < to; i++)
		if (!(line.highest[i] <= most) && !Number.isNaN(line.highest[i]))
			most = line.highest[i];
	return most;
}

// [the four of the first screen, the others that are not zero all the time]
export function choose(lines) {
	const known = Object.fromEntries(lines.filter((l) => LINES[l.key]).map((l) => [l.key, l]));
	const moves = (k) => known[k] && highest(known[k]) > LEAST;
	const fourth = known.gpu ? 'gpu' : ['net', 'fabric', 'blk', 'wait'].find(moves);
	const first = ['cpu', 'memory', 'io', fourth].filter((k) => known[k]);

	return [first.map((k) => known[k]), Object.keys(LINES).filter((k) => moves(k) && !first.includes(k)).map((k) => known[k])];
}

// Lowest, median and highest of the points from..to (not including it).
export function summary(line, from, to) {
	const mids = [];
	let low = NaN;

	for (let i = from; i < to; i++) {
		if (!Number.isNaN(line.median[i]))
			mids.push(line.median[i]);
		if (!(line.lowest[i] >= low) && !Number.isNaN(line.lowest[i]))
			low = line.lowest[i];
	}
	mids.sort((a, b) => a - b);
	const half = mids.length >> 1;
	const middle = !mids.length ? NaN : mids.length % 2 ? mids[half] : (mids[half - 1] + mids[half]) / 2;

	return { highest: highest(line, from, to), median: middle, lowest: low };
}
