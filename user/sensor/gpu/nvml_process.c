// SPDX-License-Identifier: GPL-2.0-only
/* Processes on NVIDIA's GPUs: memory and utilisation of each. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sensor/gpu/nvml_api.h"

#define FIRST_ROOM 256
#define TRIES	   4 /* the lists may grow between two calls */

struct uses {
	struct gpu_uses all;
	unsigned first; /* in all: of the GPU that is being listed */
	unsigned gpu;
};

typedef int (*list_fn)(struct nvml_device *dev, unsigned *n, struct nvml_process *p);

static int list_processes(list_fn list, struct nvml_device *dev, struct nvml_process **out,
			  unsigned *n)
{
	unsigned room = FIRST_ROOM;
	int err = NVML_TOO_SMALL;

	*n = 0;
	if (!list)
		return -EOPNOTSUPP;
	for (unsigned tries = 0; tries < TRIES && err == NVML_TOO_SMALL; tries++, room *= 2) {
		struct nvml_process *p;

		if (*n > room)
			room = *n;
		p = room > GPU_USE_MAX ? NULL : realloc(*out, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		*out = p;
		*n = room;
		err = list(dev, n, p);
		if (!err && *n > room)
			err = NVML_UNKNOWN;
	}
	if (err)
		*n = 0;
	return nvml_api__errno(err);
}

static struct gpu_use *use_of(struct uses *u, uint32_t pid)
{
	const struct gpu_use new = {.pid = pid, .gpu = u->gpu, .util = NAN};

	for (unsigned i = u->first; i < u->all.n; i++)
		if (u->all.use[i].pid == pid)
			return &u->all.use[i];
	return gpu_uses__add(&u->all, &new) ? NULL : &u->all.use[u->all.n - 1];
}

/* Adds a process. Its memory in several instances adds up, and is not known if that of one is not.
 */
static int add_process(struct uses *u, const struct nvml_process *p)
{
	struct gpu_use *use = use_of(u, p->pid);

	if (!use)
		return -ENOMEM;
	if (p->memory == UINT64_MAX)
		use->memory = UINT64_MAX;
	else if (use->memory != UINT64_MAX)
		use->memory += p->memory;
	use->mig |= p->instance != NVML_NO_INSTANCE;
	return 0;
}

static bool is_listed(const struct nvml_process *list, unsigned n, const struct nvml_process *p)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].pid == p->pid && list[i].instance == p->instance &&
		    list[i].compute_instance == p->compute_instance)
			return true;
	return false;
}

/* A process that both computes and draws is in both lists, with the same memory. */
static int add_lists(struct sensor *s, struct uses *u)
{
	_cleanup_free_ struct nvml_process *compute = NULL, *graphics = NULL;
	struct nvml_device *dev = s->gpu[u->gpu].dev;
	unsigned nc, ng;
	int err = list_processes(s->api.compute, dev, &compute, &nc);
	int err2 = list_processes(s->api.graphics, dev, &graphics, &ng);

	if (err && err2)
		return err;
	err = 0;
	for (unsigned i = 0; i < nc && !err; i++)
		err = add_process(u, &compute[i]);
	for (unsigned i = 0; i < ng && !err; i++)
		if (!is_listed(compute, nc, &graphics[i]))
			err = add_process(u, &graphics[i]);
	return err;
}

static int read_samples(struct sensor *s, unsigned gpu, struct nvml_sample **out, unsigned *n)
{
	struct nvml_gpu *g = &s->gpu[gpu];
	unsigned room = 0;
	int err = s->api.samples ? s->api.samples(g->dev, NULL, &room, g->sampled_us)
				 : NVML_NO_FUNCTION;

	*n = 0;
	if (err != NVML_TOO_SMALL || !room || room > GPU_USE_MAX)
		return -ENODATA;
	*out = calloc(room, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	*n = room;
	err = s->api.samples(g->dev, *out, n, g->sampled_us);
	if (err || *n > room)
		*n = 0;
	return nvml_api__errno(err);
}

/*
 * There is a sample of each process that used the GPU in the library's last period: of several the
 * newest counts, and a process without one used nothing. No sample at all: no period ended since.
 */
static void add_samples(struct sensor *s, struct uses *u)
{
	_cleanup_free_ struct nvml_sample *sample = NULL;
	unsigned long long newest = s->gpu[u->gpu].sampled_us;
	unsigned n;

	if (read_samples(s, u->gpu, &sample, &n) || !n)
		return;
	for (unsigned k = u->first; k < u->all.n; k++) {
		unsigned long long at = 0;

		u->all.use[k].util = 0;
		for (unsigned i = 0; i < n; i++) {
			if (sample[i].pid != u->all.use[k].pid || sample[i].time_us < at)
				continue;
			at = sample[i].time_us;
			u->all.use[k].util = sample[i].sm <= 100 ? sample[i].sm : NAN;
		}
	}
	for (unsigned i = 0; i < n; i++)
		if (sample[i].time_us > newest)
			newest = sample[i].time_us;
	s->gpu[u->gpu].sampled_us = newest;
}

int nvml__processes(struct sensor *s, struct gpu_use **out)
{
	struct uses u = {0};
	int err = -ENODATA;
	bool any = false;

	*out = NULL;
	for (u.gpu = 0; u.gpu < s->ngpus; u.gpu++) {
		int e = s->gpu[u.gpu].dev ? 0 : -ENODEV;

		u.first = u.all.n;
		e = e ? e : add_lists(s, &u);
		if (e == -ENOMEM) {
			free(u.all.use);
			return e;
		}
		err = e ? e : err;
		any |= !e;
		if (!e)
			add_samples(s, &u);
	}
	if (!any) {
		free(u.all.use);
		return err;
	}
	*out = u.all.use;
	return (int)u.all.n;
}
