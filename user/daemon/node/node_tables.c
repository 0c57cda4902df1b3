// SPDX-License-Identifier: GPL-2.0-only
/* Which steps have the node for themselves, so that their files may say what the whole node did. */
#include "daemon/node/node_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/child/job_infos.h"
#include "identity/cpulist.h"

#define ASK_NS NSEC_PER_SEC /* and as long as the step has lasted */

static bool is_there(const struct step *s, struct kern *k)
{
	const struct jp_slot *info = kern__slot(k, s->slot);

	return info->gen == s->gen && info->state == JP_SLOT_ACTIVE;
}

static bool has_process(struct step *s, struct kern *k)
{
	uint32_t slot;

	step__collect_slots(s, kern__slots(k));
	for_each_slot(slot, s) if (kern__held(k, slot)) return true;
	return false;
}

/* Slurm's list of cores is of a step: that of the batch or extern step has all of the job's. */
static bool has_all_cores(const struct step *s, const struct step_env *env)
{
	int cores = cpulist__node_cores();

	for (const struct step *o = *env->steps; o; o = o->next)
		if ((o == s || step__same_job(o, s)) && o->req && o->req->known &&
		    cpulist__count(o->req->info.cpus) >= cores)
			return true;
	return false;
}

static bool has_all_cpus(const struct step *s, const struct step_env *env)
{
	char dir[600], path[700], list[4096];

	if (!s->ids.job_end || !step_cpus__dir(s, env, s->ids.job_end, dir, sizeof(dir)))
		return false;
	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	if (read_file(AT_FDCWD, path, list, sizeof(list)) <= 0)
		return false;
	list[strcspn(list, "\n")] = '\0';
	return list[0] && cpulist__count(list) >= sysconf(_SC_NPROCESSORS_ONLN);
}

static bool is_exclusive(const struct step *s, const struct step_env *env, uint64_t now_ns)
{
	const struct job_facts *f =
		s->ids.has_job ? job_infos__get(env->jobs, s->ids.job_id, now_ns) : NULL;

	return f && !strcmp(f->sharing, "exclusive");
}

static bool others_run(const struct step *s, const struct step_env *env)
{
	for (struct step *o = *env->steps; o; o = o->next)
		if (o != s && !step__same_job(o, s) && is_there(o, env->k) &&
		    has_process(o, env->k))
			return true;
	return false;
}

bool node_tables__allowed(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();

	if (env->node_tables != NODE_TABLES_EXCLUSIVE || env->embedded)
		return env->node_tables != NODE_TABLES_NEVER;
	if (s->crowded)
		return false;
	if (!s->has_node && now >= s->node_ask_ns) {
		s->has_node =
			has_all_cores(s, env) || has_all_cpus(s, env) || is_exclusive(s, env, now);
		s->node_ask_ns = now + ASK_NS + (now - s->start_boot_ns);
	}
	s->crowded = s->has_node && others_run(s, env);
	return s->has_node && !s->crowded;
}

/* Directories of ended jobs may stay: one without a process that was there before is no job. */
void node_tables__note_new(const struct step *s, const struct step_env *env)
{
	for (struct step *o = *env->steps; o && !s->baseline; o = o->next)
		o->crowded |= o != s && !step__same_job(o, s);
}

const char *node_tables__mode(enum family f)
{
	if (f == FAM_GPU)
		return "only GPUs that no other job uses: other jobs may be on the node "
		       "(NodeTables in jobprof.conf)";
	return "off: other jobs may be on the node (NodeTables in jobprof.conf)";
}
