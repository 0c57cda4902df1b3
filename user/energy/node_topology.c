// SPDX-License-Identifier: GPL-2.0-only
/* Packages, cores and hardware threads of the node, numbered from 0 for the split. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "energy/node_energy_internal.h"
#include "sensor/core/cpus.h"

static int compare_places(const void *a, const void *b)
{
	const struct cpu_place *const *x = a, *const *y = b;

	if ((*x)->package != (*y)->package)
		return (*x)->package < (*y)->package ? -1 : 1;
	return (*x)->core != (*y)->core ? ((*x)->core < (*y)->core ? -1 : 1)
					: (*x)->cpu - (*y)->cpu;
}

/* Numbers packages and cores from 0, in the kernel's order. */
static int number_cores(struct node_energy *e, const struct cpus *c)
{
	_cleanup_free_ const struct cpu_place **at = calloc(c->n, sizeof(struct cpu_place *));
	unsigned first = 0;

	if (!at)
		return -ENOMEM;
	for (unsigned i = 0; i < c->n; i++)
		at[i] = &c->at[i];
	qsort(at, c->n, sizeof(struct cpu_place *), compare_places);
	for (unsigned i = 0; i < c->n; i++) {
		const struct cpu_place *p = at[i];
		bool new_package = !i || p->package != at[i - 1]->package;
		bool new_core = new_package || p->core != at[i - 1]->core;

		if (new_package)
			e->package_id[e->topo.npackages++] = p->package;
		if (new_core) {
			e->topo.ncores++;
			e->cores[e->topo.npackages - 1]++;
			first = (unsigned)p->cpu;
		}
		e->cpu[p->cpu] =
			(struct core_alloc_cpu){.core = (uint16_t)(e->topo.ncores - 1),
						.package = (uint16_t)(e->topo.npackages - 1),
						.there = true};
		e->next[p->cpu] = first;
		if (!new_core)
			e->next[at[i - 1]->cpu] = (unsigned)p->cpu;
	}
	return 0;
}

int node_topology__read(struct node_energy *e, const struct sensor_roots *roots)
{
	struct cpus c;
	int err = cpus__read(&c, roots);

	if (err)
		return err;
	if (!c.n || !c.packages)
		err = -ENOENT;
	if (!err) {
		e->topo.ncpus = (unsigned)c.at[c.n - 1].cpu + 1;
		e->cpu = calloc(e->topo.ncpus, sizeof(*e->cpu));
		e->next = calloc(e->topo.ncpus, sizeof(*e->next));
		e->cores = calloc((size_t)c.packages, sizeof(*e->cores));
		e->package_id = calloc((size_t)c.packages, sizeof(*e->package_id));
		err = e->cpu && e->next && e->cores && e->package_id ? number_cores(e, &c)
								     : -ENOMEM;
	}
	e->topo.cpu = e->cpu;
	cpus__free(&c);
	return err;
}
