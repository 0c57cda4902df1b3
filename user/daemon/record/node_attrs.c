// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of the node itself. */
#include "daemon/record/node_attrs.h"

#include <stdio.h>
#include <sys/sysinfo.h>

#include "base/cpuinfo.h"
#include "identity/cpulist.h"
#include "journal/journal.h"
#include "kern/pmu/perf_groups.h"

/* Only x86 has the processor's name in /proc/cpuinfo. */
static void put_model(struct journal *j)
{
	struct cpuinfo c;

	cpuinfo__read(&c, "/proc");
	if (c.name[0])
		journal__attr_str(j, "CPU Model", c.name);
}

/* Names the kind of counters by which the node's CPI stacks say what cycles were used for. */
static void put_cpi_kind(struct journal *j)
{
	const struct perf_arch *a = perf_arch__find("/proc", "/sys");
	unsigned width = a ? perf_arch__width(a, "/sys") : 0;

	if (a)
		journal__attr_str(j, "CPI Kind", a->name);
	if (width)
		journal__attr_i32(j, "Slots per Cycle", (int32_t)width);
}

void node_attrs__put(struct journal *j)
{
	int threads = cpulist__threads_per_core();
	struct sysinfo info;

	if (threads > 0) {
		journal__attr_i32(j, "Threads per Core", threads);
		journal__attr_i32(j, "Node Cores", cpulist__node_cores());
	}
	if (!sysinfo(&info))
		journal__attr_f64(j, "Node Memory",
				  (double)info.totalram * info.mem_unit / 1048576);
	put_model(j);
	put_cpi_kind(j);
}
