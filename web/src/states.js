// SPDX-License-Identifier: GPL-2.0-or-later
// Where time goes: the states in their order, with the colour that each has everywhere.

const STATES = [
	{ name: 'own code', colour: '--s0' },
	{ name: 'kernel', colour: '--s2' },
	{ name: 'other programs', colour: '--s1', about: 'used cores that no thread of the job wanted' },
	{ name: 'CPU quota', colour: '--s7', about: 'a CPU quota (cpu.max) held threads' },
	{ name: 'wait for CPU', colour: '--s3', about: 'threads waited for a CPU' },
	{ name: 'wait for disk', colour: '--s4', about: 'threads waited for a disk' },
	{ name: 'asleep', colour: '--s5', about: 'threads slept or waited for others' },
	{ name: 'idle', colour: '--s6' },
	// where others are not known
	{ name: 'CPU', colour: '--s0', about: 'own code and kernel' },
	{ name: 'not used', colour: '--s6', about: 'asleep, waiting or idle' },
];

// Those of a time budget, in its order.
export const statesOf = (shares) => shares.map((s) => STATES.find((state) => state.name === s.name) ?? { name: s.name, colour: '--s6' });

const OF_THREADS = {
	'own code': '--s0', CPU: '--s0', kernel: '--s2', stolen: '--s1', 'wait for CPU': '--s3', 'CPU quota': '--s7', disk: '--s4', 'page faults': '--s8', 'network files': '--s9',
	'kernel wait': '--s10', locks: '--s5', pipe: '--s11', socket: '--s12', poll: '--s13', sleep: '--s14', child: '--s15', signal: '--s16', other: '--s6',
};
const ABOUT = {
	stolen: 'interrupts, and what a hypervisor gave to others', 'CPU quota': 'kept from the CPU by a quota (cpu.max)', disk: 'blocked on a disk, in a system call',
	'page faults': 'blocked on a disk, in a page fault', 'network files': 'blocked on a file of a network file system',
	'kernel wait': 'blocked by locks of the kernel, by the memory map, or by a driver', locks: 'blocked by locks, conditions, barriers of threads, by semaphores or locks of files', pipe: 'blocked in a call on a pipe or a message queue',
	socket: 'blocked in a call on a socket', poll: 'blocked in poll, select, epoll or io_uring', sleep: 'asleep for a time', child: 'waiting for a child process',
	signal: 'waiting for a signal, or stopped', other: 'blocked by anything else, and by causes of less than 1 %',
};

// Those of the threads' time.
export const ofThreads = (shares) => shares.map((s) => ({ name: s.name, colour: OF_THREADS[s.name] ?? '--s6', about: ABOUT[s.name] }));

// What had the CPU while threads ran or waited for one.
const OF_CULPRITS = {
	ran: ['--s0', 'the threads themselves had a CPU'],
	'own task': ['--s3', 'other threads or processes of the same task, or other ranks of its launcher'],
	'own step': ['--s7', 'other tasks of the step'],
	'own job': ['--s10', 'other steps of the job'],
	'other jobs': ['--s4', 'jobs of this or of other users'],
	'not profiled': ['--s1', 'daemons, kernel threads, logins'],
	'CPU quota': ['--s5', 'no one: a CPU quota (cpu.max) held it'],
	'wake-up': ['--s14', 'no one: an idle CPU took that long to wake up'],
	unknown: ['--s6', 'behind too many others'],
};

// The kinds of files whose code was executed, by samples.
const OF_MODULES = {
	'own program': ['--s0', 'the file of the program, with what is linked into it'],
	MPI: ['--s5', 'a library of MPI, or one that MPI sends by'],
	'GPU library': ['--s15'],
	BLAS: ['--s4', 'a library of linear algebra'],
	OpenMP: ['--s7', 'the runtime of OpenMP, mostly threads that wait for others'],
	interpreter: ['--s1', 'Python, R, Perl, Java, Julia and others'],
	'C library': ['--s11'],
	'other libraries': ['--s12'],
	generated: ['--s16', 'code that the program made as it ran'],
	kernel: ['--s2'],
	'not known': ['--s6', 'the process had ended before its memory map could be read, or the map cannot be read'],
};
const named = (table) => (shares) => shares.map((s) => ({ name: s.name, colour: table[s.name]?.[0] ?? '--s6', about: table[s.name]?.[1] }));

export const ofCulprits = named(OF_CULPRITS);
export const ofModules = named(OF_MODULES);

// The same over time, where user and kernel are not told apart (data.js, stateOf).
export const OVER_TIME = [
	{ name: 'CPU', colour: '--s0' },
	{ name: 'wait for CPU', colour: '--s3' },
	{ name: 'wait for disk', colour: '--s4' },
	{ name: 'asleep or idle', colour: '--s6' },
];
