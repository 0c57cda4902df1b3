/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the perf subsystem, by the names that users know from perf. */
#ifndef JP_KERN_PERF_EVENT_H
#define JP_KERN_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jobprof.h"

struct perf_event {
	char text[96];	 /* as the user wrote it */
	char column[40]; /* BranchMisses, L1DcacheLoadsUser (:u), R1a8Kernel (:k), or name= as is */
	uint32_t type;	 /* PERF_TYPE_*, or a PMU's number from sysfs */
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel; /* modifiers :k and :u */
	/*
	 * The highest plausible rate, per second and CPU, for sampling. It follows the highest
	 * clock of cpufreq (else 1.5 times that of /proc/cpuinfo, else 5 GHz): 4 instructions per
	 * cycle, a miss in 20 cycles, and one per cycle of raw codes and PMU terms, which are not
	 * known better.
	 */
	double max_rate;
	uint32_t sets; /* the sets in which it is counted, as bits */
};

/* The events that are counted without PerfEvents=. */
#define PERF_EVENTS_DEFAULT "cycles,instructions,cache-misses"

/*
 * A comma list of perf's own names (perf list: hardware, software and cache events), raw codes
 * (r01c2) and PMU terms (cpu/event=0xc2,umask=0x1,name=Uops/, msr/tsc/), each with an optional
 * modifier :u or :k (cpu/.../u too). A semicolon begins another set: sets are counted in turn, and
 * an event may be in several. sysfs is "/sys", or a recorded tree in tests. Returns how many events
 * there are, those of the first set first; -EINVAL or -ENOENT with every reason in err: more than
 * max, or than JP_PMU_AT_ONCE in a set, the same event or column twice, two sets of the same
 * events, no such event, no such PMU, a PMU that does not count for the task on a CPU.
 */
int perf_event__parse(const char *list, const char *sysfs, struct perf_event *out, unsigned max,
		      char *err, size_t errlen);

#endif
