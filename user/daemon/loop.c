// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/control.h"
#include "daemon/internal.h"
#include "schema/series.h"

#define BUSY_NS	   (5 * 1000 * 1000ull) /* while a step ends */
#define CHECK_NS   (1 * NSEC_PER_SEC)	/* while anything runs */
#define ANSWERS_NS (NSEC_PER_SEC / 2)
#define RESCAN_NS  (300 * NSEC_PER_SEC)
#define LATE_NS	   (1 * NSEC_PER_SEC)  /* between two looks for those that found no slot, */
#define LATE_SHARE 50		       /* and so many times as long as one takes */
#define DETACH_NS  (60 * NSEC_PER_SEC) /* idle that long: nothing stays on the switch path */

static void task_ended(struct daemon *d, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(d->env.k, slot);

	if (info && d->nended < ENDED_MAX)
		d->ended[d->nended] = info->step;
	d->nended += info != NULL;
}

static bool has_ended_task(const struct daemon *d, const struct step *s)
{
	for (unsigned i = 0; i < d->nended && i < ENDED_MAX; i++)
		if (d->ended[i] == s->slot)
			return true;
	return d->nended > ENDED_MAX;
}

/* Of steps without one, what is remembered is what was there when a task of their own ended. */
static void remember_ended(struct daemon *d, bool only_new)
{
	for (struct step *s = d->nended ? d->steps : NULL; s; s = s->next)
		if (has_ended_task(d, s) && !(only_new && s->have_last_cg))
			step__remember_cgroup(s, &d->env);
}

static void on_event(const struct jp_event *ev, void *ctx)
{
	struct daemon *d = ctx;

	if (ev->type == JP_EV_WAKE)
		d->wake = true;
	else if (ev->type == JP_EV_LATE)
		d->sweep = true;
	else
		d->sync = true;
	if (ev->type == JP_EV_EXIT)
		task_ended(d, ev->slot);
}

int daemon_attach(struct daemon *d)
{
	int err;

	if (kern__attached(d->env.k))
		return 0;
	err = kern__attach(d->env.k);
	if (err) {
		log_error("%s", kern__error());
		return err;
	}
	kern__probe_network(d->env.k);
	return 0;
}

static void daemon_rescan(struct daemon *d, uint64_t now)
{
	uint64_t began = clock__boot_ns();

	d->freed_seen = kern__freed(d->env.k);
	if (kern__rescan(d->env.k, NULL))
		log_error("%s", kern__error());
	d->next_rescan_ns = now + RESCAN_NS;
	d->next_late_ns = now + LATE_NS + LATE_SHARE * (clock__boot_ns() - began);
	d->unplaced = kern__unplaced(d->env.k) > 0;
	d->sync = true;
}

/* Cgroups that found all slots taken are looked for when some have been given back. */
static void daemon_place_late(struct daemon *d, uint64_t now)
{
	uint64_t exhausted = kern__control(d->env.k)->stats.slots_exhausted;

	d->unplaced |= exhausted != d->exhausted_placed;
	d->exhausted_placed = exhausted;
	if (d->unplaced && kern__attached(d->env.k) && now >= d->next_late_ns &&
	    kern__freed(d->env.k) != d->freed_seen)
		daemon_rescan(d, now);
}

static bool is_ignored(const struct daemon *d, uint32_t slot)
{
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (s->slot == slot)
			return s->state == STEP_IGNORED;
	return false;
}

/* That counts for somebody. */
static bool any_slot(const struct daemon *d)
{
	const uint32_t *used;
	unsigned n, i;

	used = kern__used(d->env.k, &n);
	for (i = 0; i < n; i++)
		if (used[i] >= JP_SLOT_FIRST &&
		    kern__slot(d->env.k, used[i])->state == JP_SLOT_ACTIVE &&
		    !is_ignored(d, kern__slot(d->env.k, used[i])->step))
			return true;
	return false;
}

/* Everything the kernel has told since the last turn. Looked for in every turn: a reader that has
 * just caught up may miss being woken. */
static void daemon_take_events(struct daemon *d, uint64_t now)
{
	uint64_t lost;

	kern__events(d->env.k, on_event, d);
	remember_ended(d, false); /* first: directories are removed within a millisecond */
	lost = kern__control(d->env.k)->stats.rb_lost;
	if ((d->wake || (d->sync && any_slot(d))) && d->opts.families &&
	    !kern__attached(d->env.k)) {
		d->idle_since_ns = 0;
		if (!daemon_attach(d))
			daemon_rescan(d, now);
	}
	if (lost != d->rb_lost_seen) {
		log_warn("%llu events did not fit the ring: looking at the cgroups instead",
			 (unsigned long long)(lost - d->rb_lost_seen));
		d->rb_lost_seen = lost;
		daemon_rescan(d, now);
	}
	if (d->sweep && kern__attached(d->env.k) && kern__sweep(d->env.k))
		log_error("%s", kern__error());
	if (d->sync || !daemon_in_sync(d))
		daemon_sync_steps(d);
	remember_ended(d, true);
	d->wake = d->sweep = d->sync = false;
	d->nended = 0;
}

static void reap_children(struct daemon *d, uint64_t now)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		daemon_reaped(d, pid, status, now);
}

static void take_signals(struct daemon *d, uint64_t now)
{
	struct signalfd_siginfo si;

	while (read(d->sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		switch (si.ssi_signo) {
		case SIGCHLD:
			reap_children(d, now);
			break;
		case SIGHUP:
			daemon_reload(d);
			break;
		case SIGUSR1:
			d->handover = d->stop = true;
			break;
		default:
			if (d->opts.interrupt) {
				d->opts.interrupt(d->opts.ctx, si.ssi_signo,
						  si.ssi_code == SI_KERNEL);
			} else {
				d->stop = true;
				d->stop_signal = si.ssi_signo;
			}
		}
	}
}

/* The wall clock was set: rows keep their steps' own time, new ones fall on the new clock's grid.
 */
static void take_clock_step(struct daemon *d)
{
	struct itimerspec far = {.it_value = {.tv_sec = 1ll << 40}};
	uint64_t n;

	if (read(d->clockfd, &n, sizeof(n)) < 0 && errno == ECANCELED)
		d->env.clock_steps++;
	timerfd_settime(d->clockfd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

static uint64_t next_wake(const struct daemon *d, uint64_t now)
{
	uint64_t t = UINT64_MAX;
	const struct step *s;

	if (d->steps || d->orphans)
		t = now + (daemon_busy(d, now) ? BUSY_NS : CHECK_NS);
	else if (kern__attached(d->env.k) || automerge__busy(d->automerge))
		t = now + CHECK_NS;
	if (d->steps && d->next_sample_ns < t)
		t = d->next_sample_ns;
	for (s = d->steps; s; s = s->next)
		if (step_sensors__settle_due(s->sensors) < t)
			t = step_sensors__settle_due(s->sensors);
	if (node__due(d->env.node, d->steps != NULL) < t)
		t = node__due(d->env.node, d->steps != NULL);
	if (lookups__due(d->env.lookups) < t)
		t = lookups__due(d->env.lookups);
	if (control__due(d->control) < t)
		t = control__due(d->control);
	return t;
}

/*
 * As long as the soonest instant is away, and not longer than timeout_ms, -1: whatever there is.
 * By the wait's own clock, in ns from 5.11 on: a timer beside it would have to be set and read each
 * time. It stands still while the machine sleeps, which is a sample late by the rest of its wait.
 */
static int wait_for(struct daemon *d, struct epoll_event *ev, int max, uint64_t now, int timeout_ms)
{
	uint64_t until = next_wake(d, now), wait = until > now ? until - now : 0;
	bool forever = until == UINT64_MAX && timeout_ms < 0;
	struct timespec ts;
	int got;

	if (timeout_ms >= 0 && wait > timeout_ms * NSEC_PER_MSEC)
		wait = timeout_ms * NSEC_PER_MSEC;
	ts = (struct timespec){.tv_sec = wait / NSEC_PER_SEC, .tv_nsec = wait % NSEC_PER_SEC};
	got = syscall(SYS_epoll_pwait2, d->epfd, ev, max, forever ? NULL : &ts, NULL, 0);
	if (got < 0 && (errno == ENOSYS || errno == EPERM))
		got = epoll_wait(d->epfd, ev, max,
				 forever ? -1 : (int)((wait + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	return got;
}

static uint64_t least_interval(const struct daemon *d)
{
	uint64_t least = UINT64_MAX;
	const struct step *s;
	int i;

	for (s = d->steps; s; s = s->next)
		for (i = 0; s->state == STEP_ACTIVE && i < ALL_KINDS; i++)
			if (s->interval_ns[i] && s->interval_ns[i] < least)
				least = s->interval_ns[i];
	return least;
}

static void daemon_schedule_sample(struct daemon *d, uint64_t now)
{
	uint64_t least = least_interval(d);

	d->least_ns = least;
	d->next_sample_ns = least == UINT64_MAX ? UINT64_MAX
						: clock__next_aligned(now, d->env.boot0_ns,
								      d->env.real0_ns, least);
}

static void daemon_detach_idle(struct daemon *d, uint64_t now)
{
	if (!kern__attached(d->env.k) || d->opts.embedded || !d->idle_since_ns ||
	    now < d->idle_since_ns + DETACH_NS || any_slot(d))
		return;
	kern__detach(d->env.k);
	log_debug("no step: the programs are detached");
}

int daemon_turn(struct daemon *d, int timeout_ms)
{
	struct epoll_event ev[8];
	uint64_t now = clock__boot_ns();
	bool control_ready = false;
	int i, got;

	if (least_interval(d) != d->least_ns)
		daemon_schedule_sample(d, now);
	got = wait_for(d, ev, 8, now, timeout_ms);
	if (got < 0 && errno != EINTR)
		return -errno;
	now = clock__boot_ns();
	for (i = 0; i < got; i++) {
		if (ev[i].data.fd == d->sigfd)
			take_signals(d, now);
		else if (ev[i].data.fd == d->clockfd)
			take_clock_step(d);
		else if (ev[i].data.fd == control__fd(d->control))
			control_ready = true;
	}
	lookups__turn(d->env.lookups, now);
	if (control_ready || now >= control__due(d->control))
		control__turn(d->control, now);
	daemon_take_events(d, now);
	if (d->external_rows)
		daemon_journal_external(d);
	d->external_rows = false;
	if (now >= d->next_sample_ns) {
		daemon_sample(d, now);
		daemon_schedule_sample(d, clock__boot_ns());
	}
	daemon_watch_node(d, now);
	daemon_advance(d, clock__boot_ns());
	if (kern__attached(d->env.k) && now >= d->next_rescan_ns)
		daemon_rescan(d, now);
	daemon_place_late(d, now);
	daemon_detach_idle(d, now);
	return 0;
}

int daemon__loop(struct daemon *d)
{
	int err = 0;

	while (!err && !d->stop && !(d->opts.done && d->opts.done(d->opts.ctx)))
		err = daemon_turn(d, -1);
	return err;
}

void daemon_set_intervals(struct daemon *d)
{
	struct step *s;

	d->env.freq = d->opts.cfg->freq;
	for (s = d->steps; s; s = s->next)
		if (!s->own_freq)
			step__set_freq(s, &d->env.freq);
	d->env.boot0_ns = clock__boot_ns();
	d->env.real0_ns = clock__real_ns();
	daemon_schedule_sample(d, d->env.boot0_ns);
}

/* A file that cannot be written now is left to the next start: its journal stays. */
static bool is_awaited(const struct publication *p)
{
	return p->pid || !p->failures;
}

static bool still_writing(const struct daemon *d)
{
	const struct orphan *o = d->orphans;
	const struct step *s = d->steps;

	while (s && !is_awaited(&s->pub))
		s = s->next;
	while (o && !is_awaited(&o->pub))
		o = o->next;
	return s || o;
}

static bool any_asks(const struct daemon *d)
{
	const struct step *s;

	for (s = d->steps; s; s = s->next)
		if (step__asks(s))
			return true;
	return false;
}

/* What has been asked about steps that are cut short, as far as it comes at once. */
static void wait_for_answers(struct daemon *d)
{
	uint64_t now = clock__boot_ns(), end = now + ANSWERS_NS;

	while (now < end && any_asks(d)) {
		struct pollfd p = {.fd = lookups__fd(d->env.lookups), .events = POLLIN};

		lookups__turn(d->env.lookups, now);
		daemon_sync_steps(d);
		poll(&p, 1, 20);
		now = clock__boot_ns();
	}
}

void daemon__finish(struct daemon *d, const char *reason, unsigned seconds)
{
	uint64_t end = clock__boot_ns() + seconds * NSEC_PER_SEC;
	struct step *s;

	if (d->handover)
		return;
	daemon_sync_steps(d);
	d->finishing = true;
	for (s = d->steps; s; s = s->next)
		step__identify(s, &d->env, d->steps, true);
	wait_for_answers(d);
	d->env.leaving = true;
	for (s = d->steps; s; s = s->next)
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			step__close(s, &d->env);
	if (!snapshot__take(d->env.snap))
		for (s = d->steps; s; s = s->next) {
			step__identify(s, &d->env, d->steps, true);
			if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
				step__last_rows(s, &d->env);
			if (s->state == STEP_ACTIVE || s->state == STEP_ENDING ||
			    s->state == STEP_ASKING) {
				step__finish(s, &d->env, s->state == STEP_ASKING ? NULL : reason);
				step__release(s, &d->env);
				s->pub.next_ns = s->pub.failures = 0;
			} else if (s->state == STEP_NEW || s->state == STEP_IGNORED) {
				step__release(s, &d->env);
				s->state = STEP_DONE;
			}
		}
	while (still_writing(d) && clock__boot_ns() < end)
		daemon_turn(d, 50);
	if (d->steps || d->orphans)
		log_warn("some files are not finished: their journals stay in %s and are taken up "
			 "by the next start",
			 d->env.state_dir);
}
