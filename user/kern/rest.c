// SPDX-License-Identifier: GPL-2.0-or-later
/* Families that rest for a while, as they cost too much: what is attached meanwhile, and since when
 * their counts are whole again. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kern/internal.h"
#include "kern/probe.h"

/* What only the program of switches sees. Samples go on without the stacks of gaps. */
#define OF_SWITCHES (FAM_WAIT | FAM_CULPRIT | FAM_LATENCY | FAM_BURST)
#define OF_CLOCKS   (FAM_SAMPLE | FAM_STACK | FAM_FOLD)
/* What is counted by what a task carries, and not by the kernel itself. */
#define OF_BIRTHS (OF_SWITCHES | OF_CLOCKS | FAM_PERF)

unsigned kern__rested(const struct kern *k, uint64_t since_ns)
{
	unsigned families = 0;

	for (unsigned i = 0; i < JP_REST_BITS; i++)
		if (k->control->rested_ns[i] > since_ns)
			families |= 1u << i;
	return families;
}

static void note(struct kern *k, unsigned families, uint64_t ns)
{
	for (unsigned i = 0; i < JP_REST_BITS; i++)
		if (families >> i & 1)
			k->control->rested_ns[i] = ns;
}

void kern_rest_ended(struct kern *k, unsigned families)
{
	note(k, families & JP_REST_FAMILIES, clock__boot_ns());
}

void kern_rest_taken_over(struct kern *k)
{
	unsigned families = kern__resting(k);

	if (!families)
		return;
	kern_rest_ended(k, families);
	k->control->resting += JP_REST_FAMILIES + 1 - families;
}

/* Requests whose end nobody sees would be taken for lost ones. */
static void forget_requests(struct kern *k)
{
	if (k->mem[M_OWNERS])
		memset(k->mem[M_OWNERS], 0, k->blk_sets * sizeof(struct jp_blk_set));
}

static void stop(struct kern *k, unsigned families)
{
	if (families & JP_REST_BIRTHS)
		__atomic_store_n(&k->control->unseen, 1, __ATOMIC_SEQ_CST);
	/* from now on the ends of tasks are seen by another program */
	if ((families & (FAM_SCHED | JP_REST_BIRTHS)) && kern__attached(k) &&
	    kern_attach_one(k, P_FREED))
		log_error("%s: slots of steps that end now may stay taken", kern__error());
	for (int i = P_N; i-- > 0;)
		if (kern_progs[i].use == USE_TRACED && kern_rests(k, i))
			kern_detach_one(k, i);
	if (families & FAM_PERF)
		kern_pmu_close_all(k);
	if (families & OF_CLOCKS)
		kern_sample_stop(k);
	if (families & FAM_BLOCK)
		forget_requests(k);
}

static void start(struct kern *k, unsigned families)
{
	if (families & FAM_BLOCK)
		forget_requests(k);
	if (!kern__attached(k))
		return;
	if (families & FAM_PERF)
		kern_pmu_open_all(k);
	for (int i = 0; i < P_N; i++)
		if (kern_progs[i].use == USE_TRACED && (kern_family_of(i) & families) &&
		    kern_has_prog(k, i) && !kern_rests(k, i) && kern_attach_one(k, i))
			log_error("%s: the columns that need it are unknown", kern__error());
	if ((families & FAM_SCHED) && (k->families & FAM_WAIT))
		kern_wait_clock();
	if (families & OF_CLOCKS)
		kern_sample_start(k);
	if (families & (JP_REST_BIRTHS | FAM_WAIT)) /* of tasks that live, from now on */
		kern__sweep(k);
}

void kern__rest(struct kern *k, unsigned families)
{
	uint32_t was = k->control->resting, number = was & ~JP_REST_FAMILIES;
	unsigned begin, end;

	if (families & FAM_SCHED)
		families |= OF_SWITCHES | (k->pmu.mode == JP_PMU_EXACT ? FAM_PERF : 0);
	if (families & JP_REST_BIRTHS)
		families |= OF_BIRTHS;
	families &= k->families | FAM_SCHED | JP_REST_BIRTHS;
	begin = families & ~was;
	end = was & JP_REST_FAMILIES & ~families;
	if (!begin && !end)
		return;
	if (end & FAM_SCHED)
		number += JP_REST_FAMILIES + 1;
	note(k, begin, UINT64_MAX);
	__atomic_store_n(&k->control->resting, number | families, __ATOMIC_RELEASE);
	stop(k, begin);
	start(k, end);
	kern_rest_ended(k, end);
}
