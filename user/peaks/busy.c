// SPDX-License-Identifier: GPL-2.0-only
/* How busy the node is, and how much of it the hypervisor gives to others. */
#include "peaks/busy.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

void node_ticks__read(struct node_ticks *t)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[COLUMNS] = {0};

	*t = (struct node_ticks){0};
	if (!f ||
	    fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[USER], &v[NICE], &v[SYSTEM],
		   &v[IDLE], &v[IOWAIT], &v[IRQ], &v[SOFTIRQ], &v[STEAL]) != COLUMNS)
		return;
	for (unsigned i = 0; i < COLUMNS; i++)
		t->all += v[i];
	t->steal = v[STEAL];
	t->busy = t->all - v[IDLE] - v[IOWAIT] - v[STEAL];
}

static double part(uint64_t from, uint64_t to, uint64_t all_from, uint64_t all_to)
{
	return all_to > all_from && to >= from ? (double)(to - from) / (double)(all_to - all_from)
					       : NAN;
}

double node_ticks__busy(const struct node_ticks *from, const struct node_ticks *to)
{
	return part(from->busy, to->busy, from->all, to->all);
}

double node_ticks__steal(const struct node_ticks *from, const struct node_ticks *to)
{
	return part(from->steal, to->steal, from->all, to->all);
}
