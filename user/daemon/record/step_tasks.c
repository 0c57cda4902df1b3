// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the tasks of a step, and the task from whose environment the step's attributes are. */
#include "daemon/record/record.h"

#include "base/clock.h"
#include "daemon/step/step_ask.h"
#include "daemon/step/task_about.h"

/* An earlier slot of the step has that number: a task may have several slots. */
static bool is_counted(const struct step *s, struct kern *k, unsigned at, int32_t gtid)
{
	while (at--)
		if (kern__slot(k, s->slots[at])->gtid == gtid)
			return true;
	return false;
}

/* Takes task numbers that slurmstepd has sent: they outrank all others. */
static void take_slurm_gtid(struct step *s, struct kern *k, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(k, slot);
	const struct slurm_task *t = NULL;

	if (s->req && info->root_pid && info->gtid_source != JP_GTID_SLURM)
		t = request__find_task(s->req, (pid_t)info->root_pid);
	if (t)
		kern__set_gtid(k, slot, (int)t->gtid, JP_GTID_SLURM);
}

/* Asks for the environment of the first task. For a heterogeneous job the job id must be known. */
static void find_env(struct step *s, const struct step_env *env)
{
	bool began = false;
	uint32_t slot;

	if (s->job_env || s->asking_env || (!s->ids.has_job && s->state == STEP_NEW))
		return;
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (info->root_pid && !(info->flags & JP_SLOT_F_EXITED)) {
			step__ask_env(s, env, slot);
			return;
		}
		began |= info->root_pid != 0;
	}
	if (began)
		step__use_kept_env(s, env->k);
}

void step__find_tasks(struct step *s, const struct step_env *env)
{
	struct cgroup_ids ids;
	uint32_t slot;
	int seen = 0;

	step__collect_slots(s, kern__slots(env->k));
	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (info->gtid < 0 && info->kind == JP_KIND_TASK &&
		    !(info->flags & JP_SLOT_F_ENV)) {
			/* only the path can tell */
			if (!step__parse_cgroup(s, env, info->path, &ids) && ids.task >= 0)
				kern__set_gtid(env->k, slot, ids.task, JP_GTID_PATH);
		}
		take_slurm_gtid(s, env->k, slot);
		if (info->gtid >= 0 && !is_counted(s, env->k, i_, info->gtid))
			seen++;
	}
	step__ask_tasks(s, env);
	find_env(s, env);
	task_about__ask(s, env, clock__boot_ns());
	if (s->job_env && !s->env_journaled) {
		step__put_env_attrs(s);
		step__put_slurm_attrs(s);
		s->env_journaled = true;
	}
	if (seen != s->tasks_seen) /* the step's end may never be seen */
		journal__attr_i32(s->journal, "Number of Tasks", seen);
	s->tasks_seen = seen;
}

void step__find_new_tasks(struct step *s, const struct step_env *env)
{
	if (s->state == STEP_ACTIVE && !s->env_journaled)
		step__find_tasks(s, env);
	if (s->state != STEP_NEW)
		return;
	step__collect_slots(s, kern__slots(env->k));
	find_env(s, env);
}
