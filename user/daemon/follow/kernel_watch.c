// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel side as the daemon follows it: programs are attached while a step needs them, cgroups
 * that they have not seen are looked for, and their events are taken. */
#include "daemon/follow/kernel_watch.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/record/step_stacks.h"
#include "daemon/step/probed_regions.h"
#include "daemon/step/step.h"

#define RESCAN_NS    (300 * NSEC_PER_SEC)
#define LATE_NS	     (1 * NSEC_PER_SEC)	 /* between two looks for those that found no slot, */
#define LATE_SHARE   50			 /* and so many times as long as one takes */
#define ENDED_NS     (10 * NSEC_PER_SEC) /* and as long again where nothing has changed */
#define LOSS_AGAIN_S 600
#define TICK_NS	     (1 * NSEC_PER_SEC)	 /* idle that long: nothing interrupts the CPUs */
#define DETACH_NS    (60 * NSEC_PER_SEC) /* idle that long: nothing stays on the switch path */
#define EXHAUSTED_NS (10 * NSEC_PER_SEC) /* between two lines of the log on slots */

/* Losses that are in no slot, not even in the slot of unattributed use. */
static const struct {
	size_t offset;
	const char *one, *many;
} losses[KERNEL_LOSSES] = {
	{offsetof(struct jp_stats, storage_fail),
	 "task got no storage in the kernel and is not counted: the kernel had none at hand at "
	 "that "
	 "moment; which program of the node it was of is not known, and what it used is in no row",
	 "tasks got no storage in the kernel and are not counted: the kernel had none at hand at "
	 "those moments; which programs of the node they were of is not known, and what they used "
	 "is in no row"},
	{offsetof(struct jp_stats, cgroups_full),
	 "cgroup did not fit the table of cgroups, and its tasks are not counted: remove empty "
	 "cgroups",
	 "cgroups did not fit the table of cgroups, and their tasks are not counted: remove empty "
	 "cgroups"},
};

/* Returns how much of that kind of loss there was on this node since the programs were loaded. */
static uint64_t count_loss(const struct kern *k, unsigned kind)
{
	const struct jp_stats *stats = &kern__control(k)->stats;

	return *(const uint64_t *)((const char *)stats + losses[kind].offset);
}

const char *kernel_loss__text(unsigned kind, uint64_t n)
{
	return n == 1 ? losses[kind].one : losses[kind].many;
}

/* Walks over all cgroups: those that have no slot get one. */
static void rescan(struct kernel_watch *w, uint64_t now)
{
	uint64_t began = clock__boot_ns();

	w->freed_seen = kern__freed(w->env->k);
	w->exhausted_placed = kern__control(w->env->k)->stats.slots_exhausted;
	if (kern__rescan(w->env->k, NULL))
		log_error("%s", kern__error());
	w->next_rescan_ns = now + RESCAN_NS;
	w->next_late_ns = now + LATE_NS + LATE_SHARE * (clock__boot_ns() - began);
	clock__since(&w->unplaced_ns, kern__unplaced(w->env->k) > 0, now);
	w->sync = true;
}

/* Logs steps without a slot at once, and then their sum now and then. */
static void log_exhausted(struct kernel_watch *w, uint64_t now)
{
	uint64_t exhausted = kern__control(w->env->k)->stats.slots_exhausted;

	if (exhausted <= w->exhausted_seen || now < w->next_exhausted_ns)
		return;
	rescan(w, now);
	log_warn("all %u slots are taken, or a job's share of them: %llu step%s found none so far, "
		 "not profiled: raise MaxSlots%s%s",
		 kern__nslots(w->env->k), (unsigned long long)exhausted, exhausted == 1 ? "" : "s",
		 w->unplaced_ns ? "; without one now: " : "", kern__unplaced_names(w->env->k));
	w->exhausted_seen = kern__control(w->env->k)->stats.slots_exhausted;
	w->next_exhausted_ns = now + EXHAUSTED_NS;
}

void kernel_watch__log_losses(struct kernel_watch *w, uint64_t now)
{
	log_exhausted(w, now);
	for (unsigned i = 0; i < KERNEL_LOSSES; i++) {
		struct kernel_loss *l = &w->losses[i];
		uint64_t n = count_loss(w->env->k, i);

		if (n <= l->seen)
			continue;
		if (!l->last_ns || now - l->last_ns > KERNEL_LOSS_NS)
			l->since_ns = now;
		l->last_ns = now;
		l->seen = n;
		if (log_every(&l->log, LOSS_AGAIN_S))
			log_error("%llu %s", (unsigned long long)n, kernel_loss__text(i, n));
	}
}

int kernel_watch__attach(struct kern *k)
{
	int err;

	if (kern__attached(k))
		return 0;
	err = kern__attach(k);
	if (err)
		log_error("%s", kern__error());
	return err;
}

/* Steps that found no slot are looked for when there are more, when slots have been given back, and
 * now and then, as they end unseen. */
static void place_late(struct kernel_watch *w, uint64_t now)
{
	uint64_t exhausted = kern__control(w->env->k)->stats.slots_exhausted;
	bool more = exhausted != w->exhausted_placed;

	if ((!more && !w->unplaced_ns) || !kern__attached(w->env->k) || now < w->next_late_ns)
		return;
	if (more || kern__freed(w->env->k) != w->freed_seen || now >= w->next_late_ns + ENDED_NS)
		rescan(w, now);
}

void kernel_watch__rescan_due(struct kernel_watch *w, uint64_t now)
{
	if (kern__attached(w->env->k) && now >= w->next_rescan_ns)
		rescan(w, now);
	place_late(w, now);
}

static bool is_ignored(const struct step *s, uint32_t slot)
{
	for (; s; s = s->next)
		if (s->slot == slot)
			return s->state == STEP_IGNORED;
	return false;
}

/* Some slot counts for a step that is not ignored. */
static bool counts_any(struct step_env *env, struct step *steps)
{
	const uint32_t *used;
	unsigned n, i;

	used = kern__used(env->k, &n);
	for (i = 0; i < n; i++)
		if (used[i] >= JP_SLOT_FIRST &&
		    kern__slot(env->k, used[i])->state == JP_SLOT_ACTIVE &&
		    !is_ignored(steps, kern__slot(env->k, used[i])->step))
			return true;
	return false;
}

void kernel_watch__detach_idle(struct kernel_watch *w, uint64_t now)
{
	if (kern__attached(w->env->k) && !w->env->embedded)
		kern__tick(w->env->k, !w->idle_since_ns || now < w->idle_since_ns + TICK_NS);
	if (!kern__attached(w->env->k) || w->env->embedded || !w->idle_since_ns ||
	    now < w->idle_since_ns + DETACH_NS || counts_any(w->env, *w->env->steps))
		return;
	kern__detach(w->env->k);
	log_debug("no step: the programs are detached");
}

static void task_ended(struct kernel_watch *w, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(w->env->k, slot);

	if (info && w->nended < ENDED_MAX)
		w->ended[w->nended] = info->step;
	w->nended += info != NULL;
}

static bool has_ended_task(const struct kernel_watch *w, const struct step *s)
{
	for (unsigned i = 0; i < w->nended && i < ENDED_MAX; i++)
		if (w->ended[i] == s->slot)
			return true;
	return w->nended > ENDED_MAX;
}

/* Keeps the cgroup's values of steps of which a task has ended. only_new: of steps that have
 * none. */
static void remember_ended(struct kernel_watch *w, bool only_new)
{
	for (struct step *s = w->nended ? *w->env->steps : NULL; s; s = s->next)
		if (has_ended_task(w, s) && !(only_new && s->have_last_cg))
			step__remember_cgroup(s, w->env);
}

/* The map of a process can be read only while the process lives. */
static void note_process(struct step_env *env, struct step *steps, const struct jp_event *ev)
{
	const struct jp_slot *info = kern__slot(env->k, ev->slot);

	for (struct step *s = info ? steps : NULL; s; s = s->next)
		if (s->slot == info->step && s->state <= STEP_ENDING)
			step_stacks__process(s, env, ev->slot, ev->pid, ev->gen);
}

static void on_event(const struct jp_event *ev, void *ctx)
{
	struct kernel_watch *w = ctx;

	if (ev->type == JP_EV_WAKE)
		w->wake = true;
	else if (ev->type == JP_EV_LATE)
		w->sweep = true;
	else if (ev->type == JP_EV_MAPS)
		note_process(w->env, *w->env->steps, ev);
	else
		w->sync = true;
	if (ev->type == JP_EV_EXIT)
		task_ended(w, ev->slot);
}

static bool has_rows(const struct step *s)
{
	return s->state == STEP_ACTIVE || s->state == STEP_ENDING;
}

/* The step that the slot belonged to in that generation, if it has rows; with a request. */
static struct step *step_of(const struct step_env *env, uint32_t slot, uint32_t gen)
{
	const struct jp_slot *info = slot < kern__nslots(env->k) ? kern__slot(env->k, slot) : NULL;
	struct step *s = *env->steps;
	struct step_key key;

	if (!info || info->gen != gen || info->state == JP_SLOT_FREE)
		return NULL;
	while (s && (s->slot != info->step || !has_rows(s)))
		s = s->next;
	if (s && !s->req) {
		step__key(s, &key);
		s->req = request__new(&key);
	}
	return s && s->req ? s : NULL;
}

static int64_t unix_ns(uint64_t mono_ns)
{
	return (int64_t)(clock__real_ns() - clock__mono_ns() + mono_ns);
}

static int task_of(struct kern *k, const struct jp_slot *info)
{
	if (info->kind == JP_KIND_RANK)
		info = kern__slot(k, info->task);
	return info->gtid;
}

/* A sample of the family fold. */
static void on_point(const struct jp_point *p, void *ctx)
{
	struct step_env *env = ctx;
	struct step *s = step_of(env, p->slot, p->gen);

	if (!s || !(s->families & FAM_FOLD))
		return;
	external_series__point(&s->req->external, unix_ns(p->time_ns), p,
			       task_of(env->k, kern__slot(env->k, p->slot)),
			       &env->points[s->families & FAM_PERF && kern__counts_points(env->k)]);
	env->external_rows = true;
}

static void on_crossing(const struct jp_crossing *c, void *ctx)
{
	struct step_env *env = ctx;
	struct external_region x;
	const char *name;
	struct step *s;

	if (!probed_regions__take(env->probed, c, &x, &name))
		return;
	s = step_of(env, c->slot, c->gen);
	if (!s) {
		env->probed->pairs.lost += 2;
		return;
	}
	external_series__region(&s->req->external, unix_ns(x.end_ns), name, &x);
	env->external_rows = true;
}

/* An event that comes before its step has rows waits in the ring. */
static void take_crossings(struct step_env *env, uint64_t now)
{
	const struct step *s = *env->steps;

	probed_regions__watch(env->probed, env->k, now);
	while (s && s->state == STEP_NEW)
		s = s->next;
	if (s)
		kern__take_crossings(env->k, on_crossing, env);
}

/* Events are read in every turn, woken or not: a reader that has just caught up may miss a
 * wake-up. */
void kernel_watch__take_events(struct kernel_watch *w, uint64_t now)
{
	uint64_t lost;

	kern__on_points(w->env->k, on_point, w->env);
	kern__events(w->env->k, on_event, w);
	remember_ended(w, false); /* first: directories are removed within a millisecond */
	lost = kern__control(w->env->k)->stats.rb_lost;
	if ((w->wake || (w->sync && counts_any(w->env, *w->env->steps))) && w->env->families &&
	    !kern__attached(w->env->k)) {
		w->idle_since_ns = 0;
		if (!kernel_watch__attach(w->env->k))
			rescan(w, now);
	}
	if (lost != w->rb_lost_seen) {
		log_warn("%llu events did not fit the ring: looking at the cgroups instead",
			 (unsigned long long)(lost - w->rb_lost_seen));
		w->rb_lost_seen = lost;
		rescan(w, now);
	}
	if (w->sweep && kern__attached(w->env->k) && kern__sweep(w->env->k))
		log_error("%s", kern__error());
}

void kernel_watch__end_turn(struct kernel_watch *w, uint64_t now)
{
	remember_ended(w, true);
	if (w->env->probed)
		take_crossings(w->env, now);
	w->wake = w->sweep = w->sync = false;
	w->nended = 0;
}
