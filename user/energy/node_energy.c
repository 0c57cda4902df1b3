// SPDX-License-Identifier: GPL-2.0-only
/* Energy of a node from one reading of its sensors to the next. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "energy/node_energy_internal.h"

int node_energy__new(struct node_energy **out, const struct sensor_roots *roots)
{
	struct node_energy *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	err = node_topology__read(e, roots);
	if (!err) {
		e->learnt = calloc(1, sizeof(*e->learnt) +
					      e->topo.npackages * sizeof(e->learnt->package[0]));
		err = e->learnt ? 0 : -ENOMEM;
	}
	if (err) {
		node_energy__free(e);
		return err;
	}
	e->lag_s = NAN;
	calib_min__init(&e->learnt->other);
	for (unsigned i = 0; i < e->topo.npackages; i++)
		calib_package__init(&e->learnt->package[i]);
	*out = e;
	return 0;
}

void node_energy__free(struct node_energy *e)
{
	if (!e)
		return;
	free(e->cpu);
	free(e->next);
	free(e->cores);
	free(e->package_id);
	free(e->role);
	free(e->learnt);
	free(e);
}

unsigned node_energy__ncpus(const struct node_energy *e)
{
	return e->topo.ncpus;
}

unsigned node_energy__ncores(const struct node_energy *e)
{
	return e->topo.ncores;
}

unsigned node_energy__npackages(const struct node_energy *e)
{
	return e->topo.npackages;
}

int node_energy__package(const struct node_energy *e, unsigned cpu)
{
	return cpu < e->topo.ncpus && e->cpu[cpu].there ? e->cpu[cpu].package : -1;
}

unsigned node_energy__ngpus(const struct node_energy *e)
{
	return e->ngpus;
}

int node_energy__gpu_index(const struct node_energy *e, unsigned gpu)
{
	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].part == PART_GPU && e->role[i].of == gpu)
			return e->role[i].index;
	return -1;
}

bool node_energy__uses(const struct node_energy *e, unsigned channel)
{
	for (unsigned i = 0; i < e->nroles; i++)
		if (e->role[i].channel == channel)
			return true;
	return false;
}

bool node_energy__any(const struct node_energy *e)
{
	return e->nroles > 0;
}

int node_energy__find_channels(struct node_energy *e, const struct sensor_set *b)
{
	return node_roles__choose(e, b);
}

void node_energy__begin(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns)
{
	if (node_roles__choose(e, b))
		return;
	node_roles__take(e, now_ns);
	e->since_ns = now_ns;
}

static void clear_shares(struct node_step *steps, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		steps[i].share = (struct energy_share){NAN, NAN, NAN, NAN, NAN};
}

int node_energy__end(struct node_energy *e, const struct sensor_set *b, uint64_t now_ns,
		     const double *busy_s, struct node_step *steps, unsigned nsteps,
		     struct node_interval *out)
{
	int err = node_roles__choose(e, b);

	clear_shares(steps, nsteps);
	*out = (struct node_interval){.node = NAN,
				      .pkg = NAN,
				      .dram = NAN,
				      .gpu = NAN,
				      .power = NAN,
				      .measured = NAN,
				      .system = NAN,
				      .unallocated = NAN};
	if (err)
		return err;
	if (!e->since_ns || now_ns <= e->since_ns)
		return -EAGAIN;
	out->seconds = (double)(now_ns - e->since_ns) / NSEC_PER_SEC;
	node_roles__take(e, now_ns);
	e->since_ns = now_ns;
	out->node = node_roles__sum(e, PART_NODE);
	out->pkg = node_roles__sum(e, PART_PACKAGE);
	out->dram = node_roles__sum(e, PART_DRAM);
	out->gpu = node_roles__sum(e, PART_GPU);
	err = node_interval__split(e, now_ns, busy_s, steps, nsteps, out);
	if (err)
		clear_shares(steps, nsteps);
	e->last = *out;
	e->any_last = out->split;
	return err;
}
