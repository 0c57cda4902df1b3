// SPDX-License-Identifier: GPL-2.0-only
/* Which CPUs a step holds: what Slurm said of its cores, else its or its job's cpuset. */
#include "daemon/step_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/node_state.h"
#include "identity/cpulist.h"

#define LOOK_NS (10 * NSEC_PER_SEC)

/* What was written there: on v2 nothing, unless somebody confines it. */
static bool read_list(struct step_sensors *ss, const char *dir, unsigned ncpus)
{
	char path[700], text[4096];

	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	if (read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return text[0] && cpulist__read(text, ss->held, ncpus) > 0;
}

static bool find_cpuset(struct step *s, const struct step_env *env, unsigned ncpus)
{
	const struct kern_root *r = step__cgroup_root(s, env);
	char dir[600], *slash;

	if (!r)
		return false;
	snprintf(dir, sizeof(dir), "%s", r->mount);
	slash = strrchr(dir, '/');
	if (r->controller[0] && slash) /* controllers of v1 are mounted side by side */
		strcpy(slash, "/cpuset");
	snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "%s", s->path);
	/* The step's, else the job's: what is above is not for it alone. */
	for (unsigned i = 0; i < 2; i++) {
		if (read_list(s->sensors, dir, ncpus))
			return true;
		slash = strrchr(dir, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

/* jobprof run: its command holds what we hold. */
static bool find_own(struct step_sensors *ss, unsigned ncpus)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return false;
	for (unsigned i = 0; i < ncpus && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			ss->held[i / 64] |= 1ull << (i % 64);
	return true;
}

void step_cpus__find(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	struct step_sensors *ss = s->sensors;
	const struct node_energy *e = ss->node->energy;
	unsigned ncpus = node_energy__ncpus(e), words = (ncpus + 63) / 64;

	if (ss->held && now_ns < ss->held_ns + (ss->held_known ? LOOK_NS : LOOK_NS / 10))
		return;
	if (!ss->held && !(ss->held = malloc((words + 1) * sizeof(*ss->held))))
		return;
	memset(ss->held, 0, (words + 1) * sizeof(*ss->held));
	ss->held_ns = now_ns;
	ss->by_core = s->req && s->req->known && s->req->info.cpus[0];
	if (ss->by_core)
		ss->held_known =
			cpulist__read(s->req->info.cpus, ss->held, node_energy__ncores(e)) > 0;
	else if (env->embedded)
		ss->held_known = find_own(ss, ncpus);
	else
		ss->held_known = find_cpuset(s, env, ncpus);
	ss->held_by = !ss->held_known ? "not known"
		      : ss->by_core   ? "cores as Slurm said"
		      : env->embedded ? "the CPUs of jobprof run"
				      : "the CPUs of its cpuset";
}
