// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides when helpers are asked what a step's tasks execute, and uses their answers. */
#include "daemon/step/task_about.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/room.h"

/* After its first question a task is asked about 1, 5, 21, 85, 341 and 1365 s later, and so on. */
#define FIRST_WAIT_NS NSEC_PER_SEC
#define LAST_WAIT_NS  (1024 * NSEC_PER_SEC)
/* Where another launcher has started a rank again, so long after the last question at most. */
#define RESTART_NS (4 * NSEC_PER_SEC)

static struct task_about *find_about(const struct step *s, int kind, int number)
{
	for (unsigned i = 0; i < s->nabout; i++)
		if (s->about[i].kind == kind && s->about[i].number == number)
			return &s->about[i];
	return NULL;
}

static struct task_about *new_about(struct step *s, int kind, int number, uint64_t now_ns)
{
	struct task_about *t;

	if (room__grow(&s->about, s->nabout, 1, sizeof(*t)))
		return NULL;
	t = &s->about[s->nabout++];
	*t = (struct task_about){
		.kind = kind, .number = number, .due_ns = now_ns, .wait_ns = FIRST_WAIT_NS};
	return t;
}

/* The first process of a task or rank; 0: it is not known, or has exited. */
static uint32_t first_process(const struct jp_slot *info)
{
	if (info->kind == JP_KIND_RANK)
		return info->rank_pid;
	return info->flags & JP_SLOT_F_EXITED ? 0 : info->root_pid;
}

/* The slot that has the cgroup of a slot's processes: a rank is in that of its launcher's task, and
 * a task among others in that of the step. */
static uint32_t cgroup_of(const struct step *s, const struct kern *k, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(k, slot);

	if (info->kind == JP_KIND_RANK) {
		slot = info->task;
		info = kern__slot(k, slot);
	}
	return info && info->kind == JP_KIND_TASK && info->step == s->slot ? slot : s->slot;
}

static void ask_program(struct step *s, const struct step_env *env, struct task_about *t,
			uint32_t slot, uint64_t now_ns)
{
	const struct kern_root *r = step__cgroup_root(s, env);
	const struct jp_slot *info = kern__slot(env->k, slot);
	uint32_t cgroup = cgroup_of(s, env->k, slot);
	bool shared = cgroup == s->slot;
	struct lookup q = {.kind = LOOKUP_PROGRAM,
			   .slot = s->slot,
			   .gen = s->gen,
			   .of = slot,
			   .pid = (pid_t)first_process(info),
			   .uid = info->uid,
			   .below = shared,
			   .lineage = cgroup != slot};

	t->asked_ns = now_ns;
	t->first = first_process(info);
	t->due_ns = now_ns + t->wait_ns;
	if (t->wait_ns < LAST_WAIT_NS)
		t->wait_ns *= 4;
	if (snprintf(q.path, sizeof(q.path), "%s%s", r ? r->mount : "",
		     shared ? s->path : kern__slot(env->k, cgroup)->path) >= (int)sizeof(q.path))
		return;
	t->slot = slot;
	t->asking = !lookups__ask(env->lookups, &q);
}

/* What was learnt about a process that has ended tells little about the next one. */
static void note_first(struct task_about *t, uint32_t slot, uint32_t first)
{
	if (t->slot == slot && t->first && t->first != first &&
	    t->due_ns > t->asked_ns + RESTART_NS) {
		t->due_ns = t->asked_ns + RESTART_NS;
		t->wait_ns = FIRST_WAIT_NS;
	}
}

void task_about__ask(struct step *s, const struct step_env *env, uint64_t now_ns)
{
	uint32_t slot;

	for_each_slot(slot, s)
	{
		const struct jp_slot *info = kern__slot(env->k, slot);
		int kind = info->kind == JP_KIND_RANK ? KIND_RANKS : KIND_TASKS;
		int number = kind == KIND_RANKS ? info->rank : info->gtid;
		struct task_about *t;

		if (number < 0 || !first_process(info))
			continue;
		t = find_about(s, kind, number);
		if (!t)
			t = new_about(s, kind, number, now_ns);
		if (t)
			note_first(t, slot, first_process(info));
		if (t && !t->asking && now_ns >= t->due_ns)
			ask_program(s, env, t, slot, now_ns);
	}
}

void task_about__again(struct step *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < s->nabout; i++) {
		struct task_about *t = &s->about[i];

		if (t->due_ns > now_ns && t->wait_ns > FIRST_WAIT_NS)
			t->wait_ns /= 4; /* the question between two others makes these no rarer */
		t->due_ns = now_ns;
	}
}

uint64_t task_about__due(const struct step *s)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < s->nabout; i++)
		if (!s->about[i].asking && s->about[i].due_ns < due)
			due = s->about[i].due_ns;
	return due;
}

static void ask_libraries(const struct step *s, const struct step_env *env, const struct lookup *of,
			  struct task_about *t)
{
	struct lookup q = {.kind = LOOKUP_LIBRARIES,
			   .slot = s->slot,
			   .gen = s->gen,
			   .of = of->of,
			   .pid = t->pid,
			   .uid = of->uid};

	t->asking = !lookups__ask(env->lookups, &q);
}

static void take_program(struct task_about *t, const struct lookup_program *p)
{
	if (p->cpus.cpus)
		t->cpus = p->cpus;
	t->changed = true;
	if (!p->pid || (p->pid != t->pid && p->ticks < t->ticks))
		return;
	if (p->pid != t->pid)
		t->libraries = (struct proc_libraries){};
	t->pid = p->pid;
	t->ticks = p->ticks;
	t->program = p->program;
}

void task_about__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			  const struct lookup_answer *a)
{
	struct task_about *t = NULL;

	for (unsigned i = 0; i < s->nabout && !t; i++)
		if (s->about[i].asking && s->about[i].slot == q->of)
			t = &s->about[i];
	if (!t)
		return;
	t->asking = false;
	if (a->err)
		return;
	if (q->kind == LOOKUP_LIBRARIES) {
		if (q->pid == t->pid)
			t->libraries = a->libraries;
		t->changed = true;
		return;
	}
	take_program(t, &a->program);
	if (t->pid && t->pid == a->program.pid)
		ask_libraries(s, env, q, t);
}

void task_about__end_frame(struct step *s, enum frame_end end)
{
	for (unsigned i = 0; i < s->nabout; i++) {
		struct task_about *t = &s->about[i];

		if (t->in_frame && end == FRAME_WRITTEN)
			t->changed = false;
		t->changed |= end == FRAME_LOST;
		t->in_frame = false;
	}
}
