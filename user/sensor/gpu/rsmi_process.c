// SPDX-License-Identifier: GPL-2.0-only
/* Processes on AMD's GPUs: memory and utilisation of each. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sensor/gpu/rsmi_api.h"

#define MORE  64 /* processes that may come between two calls, and room for longer structures */
#define TRIES 4

static int list_processes(const struct rsmi_api *api, struct rsmi_process **out, uint32_t *n)
{
	int err = RSMI_TOO_SMALL;

	for (unsigned tries = 0; tries < TRIES && err == RSMI_TOO_SMALL; tries++) {
		uint32_t room;
		void *p;

		*n = 0;
		err = api->processes(NULL, n);
		if (err)
			break;
		if (*n > GPU_USE_MAX)
			return -E2BIG;
		room = *n + MORE;
		p = realloc(*out, 2 * room * sizeof(**out));
		if (!p)
			return -ENOMEM;
		*out = p;
		*n = room;
		err = api->processes(*out, n);
		if (!err && *n > room)
			err = RSMI_NO_DATA;
	}
	if (err)
		*n = 0;
	return rsmi_api__errno(err);
}

/* Without a function for one GPU, the parts of a process that uses several are not known. */
static struct gpu_use use_on(struct sensor *s, const struct rsmi_process *p, uint32_t gpu,
			     bool only)
{
	struct gpu_use use = {.pid = p->pid, .gpu = s->first + gpu, .memory = UINT64_MAX};
	struct rsmi_process here = *p;
	int err = s->api.process_on ? s->api.process_on(p->pid, gpu, &here)
		  : only	    ? RSMI_SUCCESS
				    : RSMI_NOT_SUPPORTED;

	use.memory = err ? UINT64_MAX : here.memory;
	use.util = err || here.occupancy > 100 ? NAN : here.occupancy;
	return use;
}

/* Adds a process, unless it has ended since it was listed. */
static int add_process(struct sensor *s, struct gpu_uses *u, const struct rsmi_process *p)
{
	uint32_t gpus[RSMI_MAX_GPUS], n = RSMI_MAX_GPUS;
	int err = s->api.process_gpus(p->pid, gpus, &n) || n > RSMI_MAX_GPUS ? -ESRCH : 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		struct gpu_use use;

		if (gpus[i] >= s->ngpus)
			continue;
		use = use_on(s, p, gpus[i], n == 1);
		err = gpu_uses__add(u, &use);
	}
	return err == -ESRCH ? 0 : err;
}

int rsmi__processes(struct sensor *s, struct gpu_use **out)
{
	_cleanup_free_ struct rsmi_process *list = NULL;
	struct gpu_uses u = {0};
	uint32_t n = 0;
	int err;

	*out = NULL;
	if (!s->api.processes || !s->api.process_gpus)
		return -EOPNOTSUPP;
	err = list_processes(&s->api, &list, &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = add_process(s, &u, &list[i]);
	if (err) {
		free(u.use);
		return err;
	}
	*out = u.use;
	return (int)u.n;
}
