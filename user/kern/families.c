// SPDX-License-Identifier: GPL-2.0-only
/* What each family needs of the kernel, and how its numbers come about here. */
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kern/internal.h"
#include "kern/probe.h"

/* A family without one of its tracepoints is not loaded; its columns are NaN. */
static const struct {
	unsigned family;
	const char *tracepoint;
} needs[] = {
	{FAM_BLOCK, "block_rq_complete"},
	{FAM_BLOCK, "block_rq_issue"},
};
#define N_NEEDS (sizeof(needs) / sizeof(needs[0]))

void kern_probe_families(struct kern *k)
{
	size_t i;

	k->families = k->opts.families & ~FAM_SENSORS;
	for (i = 0; k->btf && i < N_NEEDS; i++) /* else the load will say what is missing */
		if (!kern_tracepoint_args(k->btf, needs[i].tracepoint))
			k->families &= ~needs[i].family;
}

unsigned kern__families(const struct kern *k)
{
	return k->families;
}

static const char *missing(const struct kern *k, enum family f)
{
	static char text[128];
	size_t i;

	if (kern_no_hook(k, f))
		return kern_no_hook(k, f);
	for (i = 0; i < N_NEEDS; i++) {
		if (needs[i].family != f)
			continue;
		snprintf(text, sizeof(text), "off: this kernel has no tracepoint %s",
			 needs[i].tracepoint);
		return text;
	}
	return "off: not loaded";
}

static const char *block_mode(const struct kern *k)
{
	static char text[192];
	char disk[32];

	kern_untimed_disk(disk);
	snprintf(text, sizeof(text), "exact%s%s%s",
		 k->opts.block_issue ? "; without block_io_start the owner is who inserts or "
				       "issues a request, at times a kernel thread"
				     : "",
		 disk[0] ? "; no times of disks with iostats=0, as " : "", disk);
	return text;
}

const char *kern__family_mode(const struct kern *k, enum family f)
{
	if (f == FAM_PERF && k->control->pmu_text[0])
		return k->control->pmu_text;
	if (!(k->families & f))
		return missing(k, f);
	switch (f) {
	case FAM_SCHED:
		return k->opts.raw_tp ? "exact: raw tracepoint; threads moved while running wait "
					"for a sweep"
				      : "exact";
	case FAM_MEMORY:
		return kern__rss_exact(k)
			       ? "exact"
			       : "approximate: the kernel's per-CPU parts cannot be read";
	case FAM_BLOCK:
		return block_mode(k);
	case FAM_SELF:
		return "estimated";
	case FAM_NETWORK:
	case FAM_FILES:
		return kern_hook_mode(k, f);
	default:
		return "exact";
	}
}
