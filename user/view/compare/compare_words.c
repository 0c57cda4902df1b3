/* SPDX-License-Identifier: GPL-2.0-only */
/* The words for the terms of a comparison. */
#include "view/compare/compare.h"

const struct compare_words compare_words[N_TERMS] = {
	[TERM_WORK] = {"work", "work", "instructions", "more work", "less work"},
	[TERM_IPC] = {"ipc", "IPC", "1", "fewer instructions per cycle",
		      "more instructions per cycle"},
	[TERM_CLOCK] = {"clock", "clock", "Hz", "a lower clock", "a higher clock"},
	[TERM_CORES] = {"cores", "cores", "cores", "fewer cores", "more cores"},
	[TERM_BALANCE] = {"balance", "parallelism", "at a time", "less work at the same time",
			  "more work at the same time"},
	[TERM_WAIT] = {"wait", "waiting for CPU", "s", "more waiting for a CPU",
		       "less waiting for a CPU"},
	[TERM_DISK] = {"disk", "waiting for disk", "s", "more waiting for a disk",
		       "less waiting for a disk"},
	[TERM_QUOTA] = {"quota", "CPU quota", "s", "more time held back by a CPU quota",
			"less time held back by a CPU quota"},
	[TERM_NET_FS] = {"net_fs", "network files", "s", "more waiting for a network file system",
			 "less waiting for a network file system"},
	[TERM_KERNEL] = {"kernel", "kernel wait", "s", "more waiting in the kernel",
			 "less waiting in the kernel"},
	[TERM_FUTEX] = {"futex", "locks", "s", "more waiting for locks", "less waiting for locks"},
	[TERM_PIPE] = {"pipe", "pipe", "s", "more waiting for pipes", "less waiting for pipes"},
	[TERM_SOCKET] = {"socket", "socket", "s", "more waiting for sockets",
			 "less waiting for sockets"},
	[TERM_POLL] = {"poll", "poll", "s", "more waiting in poll", "less waiting in poll"},
	[TERM_SLEEP] = {"sleep", "sleep", "s", "more sleep", "less sleep"},
	[TERM_CHILD] = {"child", "child", "s", "more waiting for child processes",
			"less waiting for child processes"},
	[TERM_SIGNAL] = {"signal", "signal", "s", "more waiting for signals, or stopped",
			 "less waiting for signals, or stopped"},
	[TERM_BLOCKED] = {"blocked", "other waiting", "s", "more waiting for something else",
			  "less waiting for something else"},
	[TERM_TAIL] = {"tail", "serial end", "s", "a longer serial end", "a shorter serial end"},
	[TERM_UNKNOWN] = {"unknown", "not recorded", "s", "more time that was not recorded",
			  "less time that was not recorded"},
};

struct compare_words compare_words__of(const struct comparison *c, enum compare_term term)
{
	static const struct compare_words cpu = {"work", "CPU time", "s", "more CPU time",
						 "less CPU time"};

	return term == TERM_WORK && c->change[TERM_IPC].is_in == TERM_WORK ? cpu
									   : compare_words[term];
}
