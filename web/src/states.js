// SPDX-License-Identifier: GPL-2.0-only
// Where time goes: the states in their order, with the colour that each has everywhere.

const STATES = [
	{ name: 'own code', colour: '--s0' },
	{ name: 'kernel', colour: '--s2' },
	{ name: 'other programs', colour: '--s1', about: 'used these cores as well' },
	{ name: 'wait for CPU', colour: '--s3', about: 'idle beside waiting threads' },
	{ name: 'wait for disk', colour: '--s4', about: 'idle, threads wait for disk' },
	{ name: 'asleep', colour: '--s5', about: 'idle, threads sleep or wait for others' },
	{ name: 'idle', colour: '--s6' },
	// where others are not known
	{ name: 'CPU', colour: '--s0', about: 'own code and kernel' },
	{ name: 'not used', colour: '--s6', about: 'asleep, waiting or idle' },
];

// Those of a time budget, in its order.
export const statesOf = (shares) => shares.map((s) => STATES.find((state) => state.name === s.name) ?? { name: s.name, colour: '--s6' });

// The same over time, where user and kernel are not told apart (data.js, stateOf).
export const OVER_TIME = [
	{ name: 'CPU', colour: '--s0' },
	{ name: 'wait for CPU', colour: '--s3' },
	{ name: 'wait for disk', colour: '--s4' },
	{ name: 'asleep or idle', colour: '--s6' },
];
