/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The questions that a step asks the helpers. */
#include "daemon/step/step_ask.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/room.h"
#include "daemon/step/step.h"
#include "daemon/step/task_about.h"

/* ---- uses the helpers' answers: owners, task numbers, environments */

/* In a task's own cgroup the first lineage that has a number gives it to the task. */
#define TASK_LINEAGES 8

/* The first process of a lineage that began before it could be seen. */
struct lineage {
	pid_t pid;
	enum { LINEAGE_ASKED, LINEAGE_KNOWN, LINEAGE_DONE } state;
	int32_t gtid;
	uid_t uid;
};

static struct lineage *find_lineage(const struct step *s, pid_t pid)
{
	for (unsigned i = 0; i < s->nlineages; i++)
		if (s->lineages[i].pid == pid)
			return &s->lineages[i];
	return NULL;
}

/* Asks the question; false: it cannot be asked now. */
static bool step_ask(struct step *s, struct lookups *lookups, struct lookup *q)
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

static void ask_task_number(struct step *s, const struct step_env *env, uint32_t slot,
			    const struct lookup_pid *p)
{
	struct lookup q = {.kind = LOOKUP_TASK_NUMBER, .of = slot, .pid = p->root, .uid = p->uid};
	struct lineage *r;

	if (s->nlineages == LOOKUP_PIDS)
		return;
	if (room__grow(&s->lineages, s->nlineages, 1, sizeof(*r)))
		return;
	r = &s->lineages[s->nlineages++];
	*r = (struct lineage){.pid = p->root, .state = LINEAGE_DONE};
	if (step_ask(s, env->lookups, &q))
		r->state = LINEAGE_ASKED;
}

/* The kernel side has seen the lineage begin. All slots are searched: the kernel side may have
 * taken one since the step's slots were collected. */
static bool has_lineage(const struct step *s, struct kern *k, pid_t root)
{
	uint32_t slot;

	for_each_slot(slot, s) if (kern__slot(k, slot)->root_pid == (uint32_t)root) return true;
	return false;
}

/* Processes of one lineage, from a step's own cgroup. Returns how many places of out it takes. */
static unsigned adopt_lineage(struct step *s, const struct step_env *env,
			      const struct lookup_pid *p, unsigned n, struct kern_adopted *out)
{
	struct lineage *r = find_lineage(s, p->root);
	uint32_t slot;

	if (!r || r->state == LINEAGE_ASKED || r->state == LINEAGE_DONE ||
	    has_lineage(s, env->k, p->root)) {
		if (!r && !has_lineage(s, env->k, p->root))
			ask_task_number(s, env, s->slot, p);
		return 0;
	}
	r->state = LINEAGE_DONE;
	s->lineages_known--;
	slot = kern__lineage(env->k, s->slot, r->gtid, r->pid, r->uid);
	for (unsigned i = 0; i < n && slot != JP_SLOT_OTHER; i++)
		out[i] = (struct kern_adopted){.tgid = (uint32_t)p[i].pid, .slot = slot};
	return slot != JP_SLOT_OTHER ? n : 0;
}

static void take_lineages(struct step *s, const struct step_env *env, uint32_t slot,
			  const struct lookup_answer *a)
{
	bool own = kern__slot(env->k, slot)->kind == JP_KIND_TASK;
	struct kern_adopted *adopted = calloc(a->npids + 1, sizeof(*adopted));
	unsigned i, n, nadopted = 0, nroots = 0;

	for (i = 0; adopted && i < a->npids; i += n) {
		const struct lookup_pid *p = &a->pids[i];

		for (n = 1; i + n < a->npids && a->pids[i + n].root == p->root; n++)
			;
		if (!p->root)
			continue;
		if (!own)
			nadopted += adopt_lineage(s, env, p, n, adopted + nadopted);
		else if (nroots++ < TASK_LINEAGES && !find_lineage(s, p->root))
			ask_task_number(s, env, slot, p);
	}
	if (nadopted)
		kern__adopt(env->k, adopted, nadopted);
	free(adopted);
}

/* slurmstepd, and its children before their exec, run as root in every user's job. */
static void take_owner(struct step *s, const struct lookup_answer *a)
{
	for (unsigned i = 0; i < a->npids; i++) {
		if (a->pids[i].stepd || !step__may_own(s, a->pids[i].uid))
			continue;
		s->user_seen = true;
		if (!s->uid_known)
			s->uid = a->pids[i].uid;
		s->uid_known = true;
	}
}

/* The task's first exec may have come before the programs that would have seen it. */
static bool missed_exec(const struct jp_slot *info, struct kern *k)
{
	return info->gtid < 0 && (info->flags & JP_SLOT_F_ENV) &&
	       ((info->flags & JP_SLOT_F_BASE) ||
		info->start_ns < kern__control(k)->attached_ns + NSEC_PER_SEC);
}

static void take_tasks(struct step *s, const struct step_env *env, uint32_t slot,
		       const struct lookup_answer *a)
{
	if (a->err)
		return;
	take_owner(s, a);
	step__collect_slots(s, kern__slots(env->k));
	if (missed_exec(kern__slot(env->k, slot), env->k))
		take_lineages(s, env, slot, a);
}

static void take_task_number(struct step *s, const struct step_env *env, const struct lookup *q,
			     const struct lookup_answer *a)
{
	struct lineage *r = find_lineage(s, q->pid);

	if (!r)
		return;
	r->state = LINEAGE_DONE;
	if (a->err || a->env.procid < 0)
		return;
	if (kern__slot(env->k, q->of)->kind == JP_KIND_TASK) {
		if (kern__slot(env->k, q->of)->gtid >= 0)
			return;
		kern__set_gtid(env->k, q->of, a->env.procid, JP_GTID_ENVIRON);
		kern__set_root(env->k, q->of, q->pid, a->env.uid);
		return;
	}
	/* its processes have forked meanwhile: they are looked for once more */
	r->state = LINEAGE_KNOWN;
	r->gtid = a->env.procid;
	r->uid = a->env.uid;
	s->lineages_known++;
	s->next_tasks_ns = 0;
}

static void take_env(struct step *s, struct kern *k, const struct lookup_answer *a)
{
	s->asking_env = false;
	if (s->job_env)
		return;
	if (a->err || (!a->env.job_host[0] && !a->env.het)) {
		step__use_kept_env(s, k);
		return;
	}
	s->job_env = calloc(1, sizeof(*s->job_env));
	if (s->job_env)
		*s->job_env = a->env;
}

void step__answered(struct step *s, const struct step_env *env, const struct lookup *q,
		    const struct lookup_answer *a)
{
	bool own = kern__slot(env->k, q->of)->step == s->slot;

	if (q->kind == LOOKUP_PROGRAM || q->kind == LOOKUP_LIBRARIES) {
		task_about__answered(s, env, q, a);
		return;
	}
	s->unanswered--;
	if (q->kind != LOOKUP_STEPD && (a->err == -ETIMEDOUT || a->err == -EBUSY))
		s->unread++;
	switch (q->kind) {
	case LOOKUP_STEPD:
		s->asking_stepd = false;
		if (!a->err && !s->ids.has_job) {
			s->ids.job_id = a->job_id;
			s->ids.has_job = true;
		}
		break;
	case LOOKUP_TASKS:
		s->asking_tasks--;
		if (own)
			take_tasks(s, env, q->of, a);
		break;
	case LOOKUP_TASK_NUMBER:
		if (own)
			take_task_number(s, env, q, a);
		break;
	case LOOKUP_ENV:
		take_env(s, env->k, a);
		break;
	case LOOKUP_USER:
	case LOOKUP_PROGRAM:
	case LOOKUP_LIBRARIES:
	case LOOKUP_MAPS:
		break;
	}
}

/* Time between two questions of the same kind. */
#define AGAIN_NS (10 * NSEC_PER_MSEC)
/* A task may be between fork and its first exec when its processes are read: they are read again
 * for that long. */
#define ASK_AGAIN_NS (2 * NSEC_PER_SEC)

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
	s->asking_stepd = step_ask(s, env->lookups, &q);
}

static void ask_tasks(struct step *s, const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct lookup q = {.kind = LOOKUP_TASKS,
			   .of = slot,
			   .uid = s->uid_known ? s->uid : (uid_t)-1,
			   .below = info->kind == JP_KIND_STEP};

	if (!slot_dir(s, env, info->path, "", &q))
		s->asking_tasks += step_ask(s, env->lookups, &q);
}

void step__ask_owner(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	for_each_slot(slot, s) ask_tasks(s, env, slot);
}

void step__ask_tasks(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();
	uint32_t slot;

	if (s->asking_tasks || now < s->next_tasks_ns ||
	    (s->asked && !s->lineages_known && now >= s->start_boot_ns + ASK_AGAIN_NS))
		return;
	for_each_slot(slot, s) if (missed_exec(kern__slot(env->k, slot), env->k))
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
	s->asking_env = step_ask(s, env->lookups, &q);
	if (!s->asking_env)
		step__use_kept_env(s, env->k);
}

bool step__asks(const struct step *s)
{
	return s->unanswered || s->asking_name;
}
