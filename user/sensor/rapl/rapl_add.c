// SPDX-License-Identifier: GPL-2.0-only
/* Counters of RAPL as the ways find them, each with its channel. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "sensor/rapl/rapl.h"

#define COUNTERS_MAX 8192
#define PERIOD_NS    1000000 /* of all of them: Intel's SDM volume 3, AMD's PPR of family 17h */

static void name_channel(struct rapl *r, struct sensor_channel *ch, int package, int die)
{
	static const char *const names[] = {
		[PART_PLATFORM] = "psys", [PART_PACKAGE] = "package", [PART_CORES] = "cores",
		[PART_CORE] = "core",	  [PART_UNCORE] = "uncore",   [PART_DRAM] = "dram",
	};
	const char *name = names[ch->part];

	if (ch->part == PART_PLATFORM)
		snprintf(ch->name, sizeof(ch->name), "%s", name);
	else if (ch->part == PART_CORE || r->cpus.dies <= 1 || die < 0)
		snprintf(ch->name, sizeof(ch->name), "%s-%d", name, ch->index);
	else
		snprintf(ch->name, sizeof(ch->name), "%s-%d-die-%d", name, package, die);
}

static int index_of(const struct rapl *r, enum sensor_part part, int package, int die, int cpu)
{
	const struct cpu_place *p;

	if (part == PART_PLATFORM)
		return -1;
	if (part == PART_CORE) {
		p = cpus__find(&r->cpus, cpu);
		return p ? p->core : cpu;
	}
	return r->cpus.dies > 1 ? package * r->cpus.dies + (die > 0 ? die : 0) : package;
}

static int add_room(struct rapl *r)
{
	if (room__grow(&r->channels, r->n, 1, sizeof(*r->channels)) ||
	    room__grow(&r->counters, r->n, 1, sizeof(*r->counters)))
		return -ENOMEM;
	memset(&r->channels[r->n], 0, sizeof(*r->channels));
	memset(&r->counters[r->n], 0, sizeof(*r->counters));
	return 0;
}

struct rapl_counter *rapl__add(struct rapl *r, enum sensor_part part, int package, int die, int cpu,
			       int *err)
{
	int index = index_of(r, part, package, die, cpu);
	struct sensor_channel *ch;
	struct rapl_counter *c;

	for (unsigned i = 0; i < r->n; i++)
		if (r->channels[i].part == part && r->channels[i].index == index)
			return NULL;
	*err = r->n < COUNTERS_MAX ? add_room(r) : -E2BIG;
	if (*err)
		return NULL;
	ch = &r->channels[r->n];
	c = &r->counters[r->n++];
	*ch = (struct sensor_channel){.unit = "J",
				      .part = part,
				      .quantity = QUANTITY_ENERGY,
				      .index = index,
				      .cpu = cpu,
				      .step = NAN,
				      .error = rapl_model__error(&r->cpus, part),
				      .period_ns = PERIOD_NS};
	name_channel(r, ch, package, die);
	c->pmax_w = rapl_model__pmax(part, r->cpus.packages);
	c->package = package;
	c->die = die;
	c->cpu = cpu;
	c->fd = -1;
	return c;
}
