/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of the perf subsystem by the names users know from perf. */
#ifndef JP_KERN_PERF_EVENT_H
#define JP_KERN_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jobprof.h"

struct perf_event {
	char text[96];	 /* as the user wrote it */
	char column[40]; /* Cycles, Instructions, CacheMisses, BranchMisses, L1DcacheLoadMisses, or name= */
	uint32_t type;	 /* PERF_TYPE_*, or a PMU's number from sysfs */
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel; /* modifiers :k and :u */
	double max_rate; /* per second and CPU, more than which is not plausible: for sampling */
};

/* What is counted unless PerfEvents= says otherwise. */
#define PERF_EVENTS_DEFAULT "cycles,instructions,cache-misses"

/*
 * A comma list of perf's own names (perf list: hardware, software and cache events), raw codes
 * (r01c2) and PMU terms (cpu/event=0xc2,umask=0x1,name=Uops/, msr/tsc/), each with an optional
 * modifier :u or :k. sysfs is "/sys", or a recorded tree in tests. Returns how many; -EINVAL or
 * -ENOENT with the reason in err: more than max, the same twice, no such event, no such PMU.
 */
int perf_event__parse(const char *list, const char *sysfs, struct perf_event *out, unsigned max,
		      char *err, size_t errlen);

#endif
