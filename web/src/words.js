// SPDX-License-Identifier: GPL-2.0-or-later
// What a rule finds, in a few words, for tables about many jobs; the text of each job is on its page.
const WORDS = {
	'cpu.unused': 'cores asked for, not used', 'cpu.serial': 'one core of many works', 'cpu.nodes_unused': 'nodes without work', 'cpu.oversubscribed': 'more threads than cores',
	'cpu.stacked': 'tasks share a core beside idle ones', 'cpu.throttled': 'stopped by a CPU quota', 'cpu.neighbour': 'waits for cores that others use', 'cpu.waiting': 'waits for a CPU',
	'cpu.slow_clock': 'a slow clock', 'node.slow': 'a node slower than its kind', 'mpi.imbalance': 'ranks do unequal work', 'mpi.straggler': 'all wait for one rank', 'cpu.tail': 'work ends long before the job',
	'job.stopped': 'nothing happens any more', 'mem.over': 'memory asked for, not used', 'mem.near_limit': 'close to the memory limit', 'mem.leak': 'memory grows steadily', 'mem.oom': 'killed for memory',
	'mem.thrash': 'files are read again and again', 'mem.swap': 'memory is swapped', 'cpu.spin_yield': 'waits by giving up the CPU', 'io.wait': 'waits for files', 'io.small': 'small reads and writes',
	'io.metadata': 'many files opened and closed', 'io.one_rank': 'one rank reads or writes for all', 'io.periodic': 'all stop for input or output', 'net.errors': 'errors of the network',
	'numa.remote': 'memory of another NUMA node', 'net.not_fabric': 'messages not by the fabric', 'gpu.idle': 'GPUs not used', 'gpu.offload': 'CPU and GPU take turns', 'gpu.throttled': 'GPUs slowed down',
	'time.over': 'time limit far too long', 'time.short': 'very short jobs', 'job.fragmented': 'spread over many nodes', 'cpu.system': 'much time in the kernel', 'proc.forks': 'programs started again and again',
	'sync.fine': 'pieces of work too small', 'sync.spin': 'threads spin while they wait', 'cpu.migrates': 'threads move between cores', 'energy.idle': 'energy of idle cores', 'self.cost': 'cost of the profile',
};

// A site's own rules have no words here.
export const wordsOf = (rule) => WORDS[rule] ?? rule;
