// SPDX-License-Identifier: GPL-2.0-or-later
/* Arithmetic on the totals of slots. */
#include "sample/totals.h"

#include <stddef.h>

#include "bpf/abi/family.h"

void totals__add(struct totals *sum, const struct totals *add)
{
	/* apart, so that the other loop takes several at a time */
	static const enum total highest[] = {T_RISE, T_EXIT_PEAK, T_ALLOWED_CPUS};
	enum { N = sizeof(highest) / sizeof(highest[0]) };
	uint64_t most[N];
	int i;

	for (i = 0; i < N; i++) {
		uint64_t a = sum->v[highest[i]], b = add->v[highest[i]];

		most[i] = a > b ? a : b;
	}
	for (i = 0; i < T_N; i++)
		sum->v[i] += add->v[i];
	for (i = 0; i < N; i++)
		sum->v[highest[i]] = most[i];
}

/* The counters of families that have maps of their own. */
static const struct {
	enum family family;
	enum total first, last;
} of_families[] = {
	{FAM_BASE, T_CPU, T_N - 1},
	{FAM_BLOCK, T_BLK_READS, T_BLK_OTHERS},
	{FAM_NETWORK, T_NET_RX_BYTES, T_TCP_RETRANS},
	{FAM_FILES, T_OPENS, T_CLOSES},
	{FAM_WAIT, T_WAIT, T_THREAD_TIME},
	{FAM_CULPRIT, T_CULPRITS, T_BY_OWN_TASK},
	{FAM_SAMPLE | FAM_STACK, T_SAMPLES, T_STACK_NS},
	{FAM_SAMPLE, T_AT_ONCE, T_QUEUED_BESIDE_IDLE},
	{FAM_BURST, T_BURST, T_BURST_LOST},
	{FAM_PERF, T_PMU_READS, T_PMU_END},
};

void totals__forget(struct totals *t, unsigned families)
{
	for (size_t i = 0; i < sizeof(of_families) / sizeof(of_families[0]); i++)
		for (int v = of_families[i].first;
		     families & of_families[i].family && v <= (int)of_families[i].last; v++)
			t->v[v] = 0;
}

uint64_t totals__rss(const struct totals *t)
{
	return t->v[T_ANON] + t->v[T_FILE] + t->v[T_SHMEM];
}

/* The part of run_ns in the kernel, by the ticks of both modes; 0 without ticks in the kernel. */
static uint64_t system_part(uint64_t user_ticks, uint64_t system_ticks, uint64_t run_ns)
{
	if (!system_ticks)
		return 0;
	return (uint64_t)((unsigned __int128)system_ticks * run_ns / (user_ticks + system_ticks));
}

void totals__split(struct totals *now, const struct totals *prev)
{
	const uint64_t run = now->v[T_CPU], *was = prev->v;
	uint64_t system = system_part(now->v[T_USER], now->v[T_SYSTEM], run);

	if (was[T_USER] + was[T_SYSTEM] >= run) {
		now->v[T_USER] = was[T_USER];
		now->v[T_SYSTEM] = was[T_SYSTEM];
		return;
	}
	if (system < was[T_SYSTEM])
		system = was[T_SYSTEM];
	if (run - system < was[T_USER])
		system = run - was[T_USER];
	now->v[T_SYSTEM] = system;
	now->v[T_USER] = run - system;
}

/* Makes the classes of waits add up to the run-queue delay, and keeps each class from dropping:
 * while a wait is open, its time may be in another class than when it has ended. */
static void settle_culprits(uint64_t *now, const uint64_t *prev)
{
	uint64_t sum = 0, over, part;

	for (int i = T_BY_SLOT; i <= T_BY_UNKNOWN; i++)
		sum += now[i];
	if (sum < now[T_RUN_DELAY])
		now[T_BY_UNKNOWN] += now[T_RUN_DELAY] - sum;
	over = sum > now[T_RUN_DELAY] ? sum - now[T_RUN_DELAY] : 0;
	for (int i = T_BY_UNKNOWN; over && i >= T_BY_SLOT; i--) {
		part = now[i] - prev[i] < over ? now[i] - prev[i] : over;
		now[i] -= part;
		over -= part;
	}
	now[T_BY_OWN_TASK] = now[T_BY_SLOT] + now[T_BY_TASK];
}

void totals__clamp(struct totals *now, const struct totals *prev, unsigned rested)
{
	uint64_t user = now->v[T_USER], system = now->v[T_SYSTEM];
	struct totals before;
	int i;

	if (rested) {
		before = *prev;
		totals__forget(&before, rested);
		if (rested & FAM_WAIT)
			before.v[T_DISK_WAIT] = 0;
		prev = &before;
	}
	for (i = 0; i < T_COUNTERS; i++)
		if (now->v[i] < prev->v[i]) /* hardly ever: nothing is stored */
			now->v[i] = prev->v[i];
	now->v[T_USER] = user;
	now->v[T_SYSTEM] = system;
	settle_culprits(now->v, prev->v);
	totals__split(now, prev);
}
