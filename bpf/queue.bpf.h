/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that wait for a CPU while another CPU is idle. A tick of the clock of samples looks at
 * the queue of its own CPU, and where threads wait there at the other queues, until as many of the
 * CPUs that the step may use are found idle.
 */
#ifndef JP_QUEUE_BPF_H
#define JP_QUEUE_BPF_H

#include "bpf/task.bpf.h"

#define QUEUE_LOOKS                                                                  \
	16 /* CPUs that look in one period, where the node has more: they take turns \
	    */
#define QUEUE_CPUS 4096

struct idle_search {
	u64 queue;	    /* the address of a queue, without its CPU's offset */
	const u64 *allowed; /* in the kernel, a bit for each CPU; NULL: all */
	u32 wanted, found;
};

static long look_at_queue(u32 cpu, void *ctx)
{
	struct idle_search *s = ctx;
	u64 *offset = bpf_map_lookup_elem(&jp_offsets, &cpu), word = ~0ull;
	struct rq *rq;

	if (!offset || !*offset)
		return 0;
	rq = (struct rq *)(s->queue + *offset);
	if (s->allowed)
		bpf_probe_read_kernel(&word, sizeof(word), s->allowed + cpu / 64);
	if ((word >> (cpu % 64) & 1) && BPF_CORE_READ(rq, online) && !BPF_CORE_READ(rq, nr_running))
		s->found++;
	return s->found >= s->wanted;
}

/* CPUs of the cpuset that p is in. The kernel keeps the mask itself or, built for very many CPUs,
 * a pointer to the mask. */
static __always_inline const u64 *cpus_of_cpuset(struct task_struct *p)
{
	struct css_set *cset = BPF_CORE_READ(p, cgroups);
	struct cpuset *set = NULL;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuset_cgrp_id))
		return NULL;
	bpf_probe_read_kernel(&set, sizeof(set),
			      (void *)cset + bpf_core_field_offset(struct css_set, subsys) +
				      bpf_core_enum_value(enum cgroup_subsys_id, cpuset_cgrp_id) *
					      sizeof(void *));
	if (!set)
		return NULL;
	if (bpf_core_field_exists(struct cpuset, effective_cpus))
		return (void *)set + bpf_core_field_offset(struct cpuset, effective_cpus);
	if (bpf_core_field_exists(struct cpuset___large, effective_cpus))
		return (u64 *)BPF_CORE_READ((struct cpuset___large *)set, effective_cpus);
	return NULL;
}

/* Called in the tick of a CPU that runs p, a task of the step of a. */
static __always_inline void count_queued(struct task_struct *p, struct jp_at_once *a, u64 period)
{
	u32 cpu = bpf_get_smp_processor_id(), ncpus = jp_ncpus < QUEUE_CPUS ? jp_ncpus : QUEUE_CPUS;
	u64 *offset = bpf_map_lookup_elem(&jp_offsets, &cpu);
	struct rq *rq = BPF_CORE_READ(p, se.cfs_rq, rq);
	struct idle_search s = {};
	u32 queued;

	if (!bpf_core_field_exists(rq->online) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) || !offset || !*offset ||
	    (period + cpu) % (ncpus / QUEUE_LOOKS + 1))
		return;
	queued = BPF_CORE_READ(rq, nr_running);
	if (queued < 2)
		return;
	s.queue = (u64)rq - *offset;
	s.allowed = cpus_of_cpuset(p);
	s.wanted = queued - 1;
	bpf_loop(ncpus, look_at_queue, &s, 0);
	__sync_fetch_and_add(&a->queued, s.wanted);
	__sync_fetch_and_add(&a->queued_beside_idle, s.found);
}

#endif
