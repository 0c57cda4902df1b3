/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Resident set of an address space, exact: the per-CPU parts of the counters are added. */
#ifndef JP_RSS_BPF_H
#define JP_RSS_BPF_H

#include "bpf/maps.bpf.h"

#define MAX_CPUS    4096
#define MM_COUNTERS 4 /* file, anon, swap entries, shmem */

struct rss_sum {
	s32 *counters[MM_COUNTERS];
	s64 pages[MM_COUNTERS];
	bool packed; /* the four per-CPU values lie side by side */
};

static long add_cpu(u32 cpu, void *ctx)
{
	struct rss_sum *r = ctx;
	u64 *off = bpf_map_lookup_elem(&jp_offsets, &cpu);
	s32 v[MM_COUNTERS] = {};
	int i;

	if (!off || !*off)
		return 0;
	if (r->packed) {
		bpf_probe_read_kernel(v, sizeof(v), (void *)r->counters[0] + *off);
	} else {
		for (i = 0; i < MM_COUNTERS; i++)
			bpf_probe_read_kernel(&v[i], sizeof(v[i]), (void *)r->counters[i] + *off);
	}
	for (i = 0; i < MM_COUNTERS; i++)
		r->pages[i] += v[i];
	return 0;
}

#define READ_COUNTER(r, mm, i)                                              \
	do {                                                                \
		(r)->pages[i] = BPF_CORE_READ(mm, rss_stat[i].count);       \
		(r)->counters[i] = BPF_CORE_READ(mm, rss_stat[i].counters); \
	} while (0)

/* From 6.2 the resident set is kept in per-CPU counters (f1a7941243c1): count alone is off by up
 * to a batch per CPU. Where the offsets are unknown, that error stays and --check says so. */
static __always_inline void read_rss(struct mm_struct *mm, struct rss_sum *r)
{
	int i;

	if (!bpf_core_field_exists(mm->rss_stat[0].counters)) {
		struct mm_struct___old *old = (void *)mm;

		for (i = 0; i < MM_COUNTERS; i++)
			r->pages[i] = BPF_CORE_READ(old, rss_stat.count[i].counter);
		return;
	}
	/* one by one: only a literal index is relocated to the kernel's element size */
	READ_COUNTER(r, mm, 0);
	READ_COUNTER(r, mm, 1);
	READ_COUNTER(r, mm, 2);
	READ_COUNTER(r, mm, 3);
	r->packed = r->counters[1] == r->counters[0] + 1 && r->counters[2] == r->counters[0] + 2 &&
		    r->counters[3] == r->counters[0] + 3;
	bpf_loop(jp_ncpus < MAX_CPUS ? jp_ncpus : MAX_CPUS, add_cpu, r, 0);
}

#endif
