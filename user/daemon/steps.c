// SPDX-License-Identifier: GPL-2.0-only
/* All steps: which there are (the kernel's slots say), and what each waits for. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/control.h"
#include "daemon/internal.h"

/* How long the last tasks of a removed cgroup may take to leave the CPU, and its disk requests to
 * come back. */
#define QUIET_MAX_NS (2 * NSEC_PER_SEC)
/* How often the log says that there are too few slots. */
#define SAY_AGAIN_NS (10 * NSEC_PER_SEC)
/* Writers at the same time, of all and of one user, who may stop them; and after what time one
 * counts for its user only. */
#define WRITERS_MAX    16
#define WRITERS_USER   8
#define WRITER_SLOW_NS (10 * NSEC_PER_SEC)
/* Publishing may take one part in so many of the time. */
#define PUBLISH_SHARE 250

static int daemon_snapshot(struct daemon *d)
{
	node_gpus__mark(d->env.node, d->env.snap);
	return snapshot__take(d->env.snap);
}

static struct step *find_step_of_slot(const struct daemon *d, uint32_t slot, uint32_t gen)
{
	struct step *s;

	for (s = d->steps; s; s = s->next)
		if (s->slot == slot && s->gen == gen)
			return s;
	return NULL;
}

static void add_step(struct daemon *d, uint32_t slot)
{
	struct step *s;

	if (!d->steps) /* until now the node was nobody's */
		node__tick(d->env.node, NULL, &d->env, clock__boot_ns());
	s = step__new(&d->env, slot);
	if (!s) {
		log_error("out of memory: a step is not profiled");
		return;
	}
	s->next = d->steps;
	d->steps = s;
	d->idle_since_ns = 0;
	lookups__prepare(d->env.lookups);
}

void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a)
{
	struct daemon *d = ctx;
	struct step *s;

	d->sync = true;
	if (q->kind == LOOKUP_USER) {
		users__answered(d->env.users, q->uid, a, clock__boot_ns());
		return;
	}
	s = find_step_of_slot(d, q->slot, q->gen);
	if (s)
		step__answered(s, &d->env, q, a);
}

/* At once, and then now and then how many it has become. */
static void log_exhausted(struct daemon *d)
{
	uint64_t exhausted = kern__control(d->env.k)->stats.slots_exhausted, now = clock__boot_ns();

	if (exhausted <= d->exhausted_seen || now < d->next_exhausted_ns)
		return;
	log_warn(
		"all %u slots are taken: %llu cgroups or tasks were counted as unattributed; raise "
		"MaxSlots",
		kern__nslots(d->env.k), (unsigned long long)exhausted);
	d->exhausted_seen = exhausted;
	d->next_exhausted_ns = now + SAY_AGAIN_NS;
}

void daemon_sync_steps(struct daemon *d)
{
	const uint32_t *used;
	unsigned n, i;
	struct step *s;

	d->slots_seen = kern__slots_changed(d->env.k);
	/* what begins while we leave is for the next jobprofd */
	used = kern__used(d->env.k, &n);
	for (i = 0; !d->finishing && i < n; i++) {
		const struct jp_slot *info = kern__slot(d->env.k, used[i]);

		if (used[i] < JP_SLOT_FIRST || info->kind != JP_KIND_STEP ||
		    kern__released(d->env.k, used[i]))
			continue;
		if (!find_step_of_slot(d, used[i], info->gen))
			add_step(d, used[i]);
	}
	daemon_claim_requests(d, clock__boot_ns());
	for (s = d->steps; s; s = s->next) {
		step__identify(s, &d->env, d->steps, false);
		step__notice(s, &d->env);
	}
	log_exhausted(d);
}

bool daemon_in_sync(const struct daemon *d)
{
	const struct step *s;

	if (d->requests || d->slots_seen != kern__slots_changed(d->env.k) ||
	    d->exhausted_seen != kern__control(d->env.k)->stats.slots_exhausted)
		return false;
	for (s = d->steps; s; s = s->next)
		if (s->state == STEP_NEW || (s->state == STEP_ACTIVE && !s->env_journaled))
			return false;
	return true;
}

static bool cgroup_gone(const struct daemon *d, const struct step *s)
{
	const struct jp_slot *info = kern__slot(d->env.k, s->slot);

	return info->gen == s->gen && info->state != JP_SLOT_ACTIVE;
}

/* What its slurmstepd had said before it ended is there by now. */
static void read_last_messages(struct daemon *d, const struct step *s, uint64_t now)
{
	if (!d->control || s->state != STEP_NEW || (s->req && s->req->spank))
		return;
	control__turn(d->control, now);
	daemon_claim_requests(d, now);
}

static void begin_end(struct daemon *d, struct step *s, uint64_t now)
{
	if (!s->end_boot_ns)
		s->end_boot_ns = now;
	read_last_messages(d, s, now);
	step__identify(s, &d->env, d->steps, true);
	if (s->state == STEP_ACTIVE) {
		s->state = STEP_ENDING;
		s->end_boot_ns = now;
	}
}

static void close_step(struct daemon *d, struct step *s, const char *reason)
{
	step__finish(s, &d->env, reason);
	step__release(s, &d->env);
	s->pub.next_ns = 0;
}

static void end_step(struct daemon *d, struct step *s, uint64_t now)
{
	int err;

	step__close(s, &d->env);
	err = daemon_snapshot(d);
	if (err)
		log_error("cannot read the counters: %s: the last row of %s is lost",
			  strerror(-err), s->pub.name);
	step__last_rows(s, &d->env);
	if (step__must_ask_squeue(s, &d->env)) {
		step__ask_squeue(s, &d->env, now);
		s->state = STEP_ASKING;
	} else {
		close_step(d, s, NULL);
	}
}

struct writers {
	unsigned all, users;
};

static void count_writer(struct writers *n, const struct publication *p, uid_t uid, uint64_t now)
{
	n->all += p->pid && now - p->started_ns < WRITER_SLOW_NS;
	n->users += p->pid && p->uid == uid;
}

/* A thousand steps may end at once. Writers that hang keep nobody else waiting. */
static bool room_for_writer(const struct daemon *d, uid_t uid, uint64_t now)
{
	struct writers n = {};
	const struct orphan *o;
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		count_writer(&n, &s->pub, uid, now);
	for (o = d->orphans; o; o = o->next)
		count_writer(&n, &o->pub, uid, now);
	return n.all < WRITERS_MAX && n.users < WRITERS_USER;
}

/* The file of a job's earlier run, which is still being written, has the same name. */
static bool name_in_use(const struct daemon *d, const struct publication *p)
{
	const struct orphan *o;
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (&s->pub != p && s->pub.pid && !strcmp(s->pub.name, p->name))
			return true;
	for (o = d->orphans; o; o = o->next)
		if (&o->pub != p && o->pub.pid && !strcmp(o->pub.name, p->name))
			return true;
	return false;
}

static void daemon_publish_live(struct daemon *d, struct step *s, uint64_t now)
{
	uint64_t every = (uint64_t)(d->opts.cfg->publish_interval * NSEC_PER_SEC);

	if (!every || s->pub.pid || !s->intervals || !room_for_writer(d, s->pub.uid, now) ||
	    name_in_use(d, &s->pub))
		return;
	if (every < PUBLISH_SHARE * s->pub.cost_ns)
		every = PUBLISH_SHARE * s->pub.cost_ns;
	if (now - (s->pub.started_ns ? s->pub.started_ns : s->start_boot_ns) >= every)
		publication__start(&s->pub, d->opts.writer, false, now);
}

static void daemon_finish_file(struct daemon *d, struct publication *p, uint64_t now)
{
	int err;

	publication__check(p, now);
	if (p->pid || p->done || !room_for_writer(d, p->uid, now) || name_in_use(d, p))
		return;
	err = publication__start(p, d->opts.writer, true, now);
	if (err && err != -EAGAIN)
		log_error("cannot start a writer for %s: %s", p->name, strerror(-err));
}

static void advance_step(struct daemon *d, struct step *s, uint64_t now)
{
	step__settle_sensors(s, now);
	switch (s->state) {
	case STEP_NEW:
	case STEP_ACTIVE:
		if (cgroup_gone(d, s))
			begin_end(d, s, now);
		else if (s->state == STEP_ACTIVE)
			daemon_publish_live(d, s, now);
		publication__check(&s->pub, now);
		break;
	case STEP_ENDING:
		if ((step__quiet(s, &d->env) && !step__asks(s)) ||
		    now - s->end_boot_ns > QUIET_MAX_NS)
			end_step(d, s, now);
		break;
	case STEP_ASKING:
		if (end_reason__advance(&s->end_reason, now))
			close_step(d, s, s->end_reason.answer[0] ? s->end_reason.answer : NULL);
		break;
	case STEP_FINISHING:
		if (step__write_rest(s))
			daemon_finish_file(d, &s->pub, now);
		break;
	case STEP_IGNORED:
		if (!cgroup_gone(d, s))
			break;
		step__release(s, &d->env);
		s->state = STEP_DONE;
		break;
	case STEP_DONE:
		break;
	}
}

static void remove_written_journal(const struct publication *p, char *path, size_t len)
{
	snprintf(path, len, "%s%s%s/%s", p->dir, p->user[0] ? "/" : "", p->user, p->name);
	unlink(p->journal);
	log_info("wrote %s", path);
}

static void drop_done(struct daemon *d)
{
	struct orphan **o = &d->orphans;
	struct step **p = &d->steps;

	while (*p) {
		struct step *s = *p;

		if (s->state != STEP_DONE) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		d->journals.left_out += s->lost_rows;
		step__free(s);
	}
	while (*o) {
		struct orphan *done = *o;

		if (!done->pub.done) {
			o = &done->next;
			continue;
		}
		*o = done->next;
		free(done);
	}
}

/* Some step is not one that nobody wants. */
static bool any_wanted(const struct daemon *d)
{
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (s->state != STEP_IGNORED)
			return true;
	return false;
}

void daemon_advance(struct daemon *d, uint64_t now)
{
	struct orphan *o;
	struct step *s;
	bool again = true;

	while (again) { /* a step may go through several states at once */
		again = false;
		for (s = d->steps; s; s = s->next) {
			enum step_state was = s->state;

			advance_step(d, s, now);
			again |= s->state != was;
		}
	}
	for (o = d->orphans; o; o = o->next)
		daemon_finish_file(d, &o->pub, now);
	daemon_limit_journals(d, now);
	kern__reap(d->env.k);
	drop_done(d);
	if (d->automerge)
		automerge__advance(d->automerge, d, now);
	if (any_wanted(d))
		d->idle_since_ns = 0;
	else if (!d->idle_since_ns)
		d->idle_since_ns = now;
}

void daemon_reaped(struct daemon *d, pid_t pid, int status, uint64_t now)
{
	char path[sizeof(d->last_file)];
	struct orphan *o;
	struct step *s;

	for (s = d->steps; s; s = s->next) {
		if (end_reason__reaped(&s->end_reason, pid))
			return;
		if (!publication__reaped(&s->pub, pid, status, now))
			continue;
		if (s->pub.done) {
			remove_written_journal(&s->pub, d->last_file, sizeof(d->last_file));
			s->state = STEP_DONE;
		}
		return;
	}
	for (o = d->orphans; o; o = o->next) {
		if (!publication__reaped(&o->pub, pid, status, now))
			continue;
		if (o->pub.done)
			remove_written_journal(&o->pub, path, sizeof(path));
		return;
	}
	if (lookups__reaped(d->env.lookups, pid))
		return;
	if (d->automerge && automerge__reaped(d->automerge, pid, status))
		return;
	if (d->opts.child)
		d->opts.child(d->opts.ctx, pid, status);
}

/* At the snapshot's instant, if some step is due a row of it. */
static void tick_node(struct daemon *d)
{
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (step__wants_node(s, &d->env))
			break;
	if (s)
		node__tick(d->env.node, d->steps, &d->env, snapshot__boot_ns(d->env.snap));
}

/* Sensors that must be read now and then, rows or not. */
void daemon_watch_node(struct daemon *d, uint64_t now)
{
	if (now < node__due(d->env.node, d->steps != NULL))
		return;
	if (d->steps && !daemon_snapshot(d))
		now = snapshot__boot_ns(d->env.snap);
	node__tick(d->env.node, d->steps, &d->env, now);
}

void daemon_sample(struct daemon *d, uint64_t now)
{
	bool any = false;
	struct step *s;
	int err;

	for (s = d->steps; s; s = s->next)
		any |= s->state == STEP_ACTIVE;
	if (!any)
		return;
	err = daemon_snapshot(d);
	if (err) {
		log_error("cannot read the counters: %s: this interval's rows are late",
			  strerror(-err));
		return;
	}
	tick_node(d);
	for (s = d->steps; s; s = s->next) {
		step__watch_peak(s, &d->env);
		step__rows(s, &d->env, false);
	}
}

bool daemon_busy(const struct daemon *d, uint64_t now)
{
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (s->state == STEP_ENDING || s->state == STEP_ASKING ||
		    (s->state == STEP_NEW && now < s->start_boot_ns + STEP_YOUNG_NS))
			return true;
	return false;
}

bool daemon__finishing(const struct daemon *d)
{
	const struct orphan *o;

	for (o = d->orphans; o; o = o->next)
		if (o->pub.pid)
			return true;
	return false;
}

const struct step *daemon__steps(const struct daemon *d)
{
	return d->steps;
}

const char *daemon__last_file(const struct daemon *d)
{
	return d->last_file;
}
