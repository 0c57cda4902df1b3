// SPDX-License-Identifier: GPL-2.0-only
/* The node's energy, split among its steps. */
#include "daemon/node/node_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/node/node.h"

unsigned node_split__count_steps(const struct step *s)
{
	unsigned n = 0;

	for (; s; s = s->next)
		n += step__uses_node(s);
	return n;
}

/* One number for all steps of a job: a hash of the path of the job's directory (FNV-1a). */
static uint64_t job_of(const struct step *s)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < s->ids.job_end && s->path[i]; i++)
		h = (h ^ (unsigned char)s->path[i]) * 1099511628211ull;
	return h;
}

/* Steps that hold the CPUs of their job, and use little of them. */
static bool is_support(const struct step *s)
{
	static const char *const names[] = {"batch", "extern", "interactive"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(s->ids.step_name, names[i]))
			return true;
	return false;
}

static void fill_step(struct step *s, const struct step_env *env, uint64_t from_ns, uint64_t now_ns,
		      struct node_step *out)
{
	struct step_sensors *n = s->sensors;
	unsigned np = node_energy__npackages(n->node->energy);

	step_cpus__find(s, env, now_ns);
	*out = (struct node_step){.id = s->start_boot_ns ^ s->slot,
				  .job = job_of(s),
				  .support = is_support(s),
				  .by_core = n->by_core,
				  .held = n->held_known ? n->held : NULL,
				  .alive = 1,
				  .run_s = n->run_s,
				  .cycles = &n->events[NODE_CYCLES * np],
				  .misses = &n->events[NODE_MISSES * np]};
	if (s->start_boot_ns > from_ns && now_ns > from_ns)
		out->alive = s->start_boot_ns < now_ns ? (double)(now_ns - s->start_boot_ns) /
								 (double)(now_ns - from_ns)
						       : 0;
}

static void add_shares(struct step_sensors *s, const struct node_interval *o,
		       const struct energy_share *share)
{
	double others = o->measured - o->system - o->unallocated - share->total;
	const double v[ENERGY_COLUMNS] = {
		[NODE_POWER] = o->power * o->seconds,
		[NODE_ENERGY] = o->node,
		[NODE_PKG] = o->pkg,
		[NODE_DRAM] = o->dram,
		[NODE_GPU] = o->gpu,
		[STEP_TOTAL] = share->total,
		[STEP_FIXED] = share->fixed,
		[STEP_DYNAMIC] = share->dynamic,
		[STEP_LOW] = share->low,
		[STEP_HIGH] = share->high,
		[NODE_OTHERS] = others > 0	? others
				: isnan(others) ? NAN
						: 0,
		[NODE_SYSTEM] = o->system,
		[NODE_UNALLOCATED] = o->unallocated,
	};

	for (unsigned i = 0; i < ENERGY_COLUMNS; i++)
		s->energy[i] += v[i];
	s->seconds += o->seconds;
	s->any = true;
}

/* Steps whose uses could not be read are the system's. */
void node_split__run(struct node *n, struct step *steps, const struct step_env *env,
		     uint64_t now_ns)
{
	unsigned max = node_split__count_steps(steps), used = 0;
	struct node_step *v = calloc(max + 1, sizeof(*v));
	struct step **used_by = calloc(max + 1, sizeof(struct step *));
	int err = v && used_by ? 0 : -ENOMEM;

	for (struct step *s = steps; !err && s; s = s->next) {
		if (!step__uses_node(s) || step_use__update(s, env))
			continue;
		fill_step(s, env, n->energy_ns, now_ns, &v[used]);
		used_by[used++] = s;
	}
	cpu_busy__take(n->busy, n->busy_s);
	node_gpus__share(n, steps, env);
	for (unsigned i = 0; !err && i < used; i++)
		v[i].gpu = used_by[i]->sensors->gpu;
	if (!err)
		err = node_energy__end(n->energy, n->sensors, now_ns, n->busy_s, v, used, &n->last);
	if (err && err != -EAGAIN)
		log_error("cannot split the node's energy: %s", strerror(-err));
	for (unsigned i = 0; !err && i < used; i++)
		add_shares(used_by[i]->sensors, &n->last, &v[i].share);
	free(v);
	free(used_by);
}
