// SPDX-License-Identifier: GPL-2.0-only
/* The questions that a step asks the helpers. */
#include "daemon/step/step_ask.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/step/step_cgroup.h"

/* Time between two questions of the same kind. */
#define AGAIN_NS (10 * NSEC_PER_MSEC)
/* A task may be between fork and its first exec when its processes are read: they are read again
 * for that long. */
#define ASK_AGAIN_NS (2 * NSEC_PER_SEC)

bool step__ask(struct step *s, struct lookups *lookups, struct lookup *q)
{
	q->slot = s->slot;
	q->gen = s->gen;
	if (lookups__ask(lookups, q)) {
		s->unread += q->kind == LOOKUP_TASK_NUMBER || q->kind == LOOKUP_ENV;
		return false;
	}
	s->unanswered++;
	return true;
}

static int slot_dir(const struct step *s, const struct step_env *env, const char *path,
		    const char *below, struct lookup *q)
{
	const struct kern_root *r = step__cgroup_root(s, env);

	return snprintf(q->path, sizeof(q->path), "%s%s%s", r ? r->mount : "", path, below) <
			       (int)sizeof(q->path)
		       ? 0
		       : -ENAMETOOLONG;
}

void step__ask_stepd(struct step *s, const struct step_env *env)
{
	struct lookup q = {.kind = LOOKUP_STEPD};
	uint64_t now = clock__boot_ns();

	if (s->asking_stepd || now < s->next_stepd_ns || slot_dir(s, env, s->path, "/slurm", &q))
		return;
	s->next_stepd_ns = now + AGAIN_NS;
	s->asking_stepd = step__ask(s, env->lookups, &q);
}

static void ask_tasks(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct lookup q = {.kind = LOOKUP_TASKS,
			   .of = slot,
			   .uid = s->uid_known ? s->uid : (uid_t)-1,
			   .below = info->kind == JP_KIND_STEP};

	if (!slot_dir(s, env, info->path, "", &q))
		s->asking_tasks += step__ask(s, env->lookups, &q);
}

void step__ask_owner(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	for_each_slot(slot, s) ask_tasks(s, env, slot);
}

/* The task's first exec may have come before the programs that would have seen it. */
bool step__missed_exec(const struct jp_slot *info, struct kern *k)
{
	return info->gtid < 0 && (info->flags & JP_SLOT_F_ENV) &&
	       ((info->flags & JP_SLOT_F_BASE) ||
		info->start_ns < kern__control(k)->attached_ns + NSEC_PER_SEC);
}

void step__ask_tasks(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();
	uint32_t slot;

	if (s->asking_tasks || now < s->next_tasks_ns ||
	    (s->asked && !s->lineages_known && now >= s->start_boot_ns + ASK_AGAIN_NS))
		return;
	for_each_slot(slot, s) if (step__missed_exec(kern__slot(env->k, slot), env->k))
		ask_tasks(s, env, slot);
	s->next_tasks_ns = now + AGAIN_NS;
	s->asked = true;
}

/* Reads the CPUs and the memory limit, which the environment does not have and which are gone with
 * the process. A command of jobprof run may have bound itself by now (taskset): its CPUs are those
 * of jobprof run. */
static void read_limits(struct step *s, const struct step_env *env, pid_t pid)
{
	double cg[CG_N];
	cpu_set_t cpus;

	if (!env->embedded && !sched_getaffinity(pid, sizeof(cpus), &cpus))
		s->allocated_cpus = CPU_COUNT(&cpus);
	step__read_cgroup(s, env, NULL, cg);
	s->memory_limit = cg[CG_MEM_LIMIT];
}

/* For a task that has gone, has no environment any more or cannot be read. */
void step__use_kept_env(struct step *s, struct kern *k)
{
	struct jp_env *kept = malloc(sizeof(*kept));

	s->job_env = calloc(1, sizeof(*s->job_env));
	if (s->job_env && kept && !kern__env(k, s->slot, kept) && kept->len <= sizeof(kept->text))
		lookup_env__parse(kept->text, kept->len, s->ids.job_id, s->job_env);
	free(kept);
}

void step__ask_env(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct lookup q = {.kind = LOOKUP_ENV,
			   .of = slot,
			   .pid = (pid_t)info->root_pid,
			   .uid = info->uid,
			   .job_id = s->ids.job_id};

	if (s->job_env || s->asking_env)
		return;
	read_limits(s, env, q.pid);
	s->asking_env = step__ask(s, env->lookups, &q);
	if (!s->asking_env)
		step__use_kept_env(s, env->k);
}

bool step__asks(const struct step *s)
{
	return s->unanswered || s->asking_name;
}
