// SPDX-License-Identifier: GPL-2.0-or-later
/* Chooses the channels that the energy of each part is read from. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "energy/node_energy_internal.h"
#include "sensor/sensors.h"

static const enum sensor_part parts[] = {PART_NODE, PART_PACKAGE, PART_DRAM, PART_GPU};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static bool measures(const struct channel_state *c, enum sensor_part part, enum sensor_quantity q)
{
	return c->channel->part == part && c->channel->quantity == q;
}

/* The rank of a source by the list of all; those of a site come last. */
static unsigned rank_of(const struct sensor_ops *ops)
{
	unsigned i = 0;

	while (i < n_sensor_sources && sensor_sources[i] != ops)
		i++;
	return i;
}

/* The source that a part is read from: the first that has it. */
static const struct sensor_ops *source_of(const struct channel_state *c, unsigned n,
					  enum sensor_part part)
{
	const struct sensor_ops *best = NULL;

	for (unsigned i = 0; i < n; i++)
		if ((measures(&c[i], part, QUANTITY_ENERGY) ||
		     measures(&c[i], part, QUANTITY_POWER)) &&
		    (!best || rank_of(c[i].ops) < rank_of(best)))
			best = c[i].ops;
	return best;
}

/* GPUs may be of two makers: NVIDIA's are numbered first, then AMD's. */
static bool is_used(const struct sensor_ops *ops, const struct sensor_ops *first,
		    enum sensor_part part)
{
	return ops == first || (part == PART_GPU && first == &sensor_nvml && ops == &sensor_rsmi);
}

static unsigned package_of(const struct node_energy *e, const struct sensor_channel *ch)
{
	if (ch->cpu >= 0 && (unsigned)ch->cpu < e->topo.ncpus && e->cpu[ch->cpu].there)
		return e->cpu[ch->cpu].package;
	for (unsigned i = 0; i < e->topo.npackages; i++)
		if (e->package_id[i] == ch->index)
			return i;
	return e->topo.npackages;
}

static const struct role *find_role(const struct role *role, unsigned n, unsigned channel)
{
	for (unsigned i = 0; i < n; i++)
		if (role[i].channel == channel)
			return &role[i];
	return NULL;
}

/* Whether the source also counts the energy of a power channel's GPU: then power is not needed. */
static bool counts_too(const struct channel_state *c, unsigned n, unsigned i)
{
	if (c[i].channel->quantity == QUANTITY_ENERGY)
		return false;
	for (unsigned k = 0; k < n; k++)
		if (c[k].ops == c[i].ops && measures(&c[k], c[i].channel->part, QUANTITY_ENERGY) &&
		    c[k].channel->index == c[i].channel->index)
			return true;
	return false;
}

static void add_role(struct node_energy *e, const struct role *old, unsigned nold, unsigned channel)
{
	const struct sensor_channel *ch = e->channel[channel].channel;
	const struct role *was = find_role(old, nold, channel);
	struct role r = {.part = ch->part, .channel = channel, .index = ch->index, .joules = NAN};

	if (was)
		r.meter = was->meter;
	if (ch->part == PART_GPU)
		r.of = e->ngpus++;
	else if (ch->part != PART_NODE)
		r.of = package_of(e, ch);
	if (ch->part != PART_GPU && ch->part != PART_NODE && r.of >= e->topo.npackages)
		return;
	/* one sensor of the node: a second one measures the same */
	if (ch->part == PART_NODE && node_roles__first(e, PART_NODE))
		return;
	e->role[e->nroles++] = r;
}

int node_roles__choose(struct node_energy *e, const struct sensor_set *b)
{
	unsigned n = sensor_set__channels(b, &e->channel), nold = e->nroles;
	struct role *old = e->role;

	if (n == e->seen)
		return 0;
	e->role = calloc(n, sizeof(*e->role));
	if (!e->role) {
		e->role = old;
		return -ENOMEM;
	}
	e->nroles = e->ngpus = 0;
	e->seen = n;
	for (unsigned p = 0; p < N_PARTS; p++) {
		const struct sensor_ops *from = source_of(e->channel, n, parts[p]);

		for (unsigned i = 0; from && i < n; i++)
			if (is_used(e->channel[i].ops, from, parts[p]) &&
			    (measures(&e->channel[i], parts[p], QUANTITY_ENERGY) ||
			     measures(&e->channel[i], parts[p], QUANTITY_POWER)) &&
			    !counts_too(e->channel, n, i))
				add_role(e, old, nold, i);
	}
	free(old);
	return 0;
}

void node_roles__take(struct node_energy *e, uint64_t now_ns)
{
	for (unsigned i = 0; i < e->nroles; i++) {
		struct role *r = &e->role[i];

		r->joules = meter__take(&r->meter, &e->channel[r->channel], now_ns);
	}
}

double node_roles__sum(const struct node_energy *e, enum sensor_part part)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < e->nroles; i++) {
		if (e->role[i].part != part)
			continue;
		sum += e->role[i].joules;
		n++;
	}
	return n ? sum : NAN;
}

const struct role *node_roles__first(const struct node_energy *e, enum sensor_part part)
{
	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].part == part)
			return &e->role[i];
	return NULL;
}
