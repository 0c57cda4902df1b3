// SPDX-License-Identifier: GPL-2.0-only
/* The event loop: what it waits for, and the order in which a turn does what is due. */
#include "daemon/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/advance.h"
#include "daemon/attach.h"
#include "daemon/automerge.h"
#include "daemon/control.h"
#include "daemon/daemon_state.h"
#include "daemon/kernel_events.h"
#include "daemon/node.h"
#include "daemon/reload.h"
#include "daemon/request_match.h"
#include "daemon/sampling.h"
#include "daemon/step_files.h"
#include "daemon/step_sensors.h"

#define BUSY_NS	 (5 * 1000 * 1000ull) /* while a step ends */
#define CHECK_NS (1 * NSEC_PER_SEC)   /* while anything runs */

static void reap_child(struct daemon *d, pid_t pid, int status, uint64_t now)
{
	struct step *s;

	for (s = d->steps; s; s = s->next)
		if (end_reason__reaped(&s->end_reason, pid))
			return;
	if (daemon_writer_reaped(d, pid, status, now) || lookups__reaped(d->env.lookups, pid))
		return;
	if (d->automerge && automerge__reaped(d->automerge, pid, status))
		return;
	if (d->opts.child)
		d->opts.child(d->opts.ctx, pid, status);
}

static void reap_children(struct daemon *d, uint64_t now)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		reap_child(d, pid, status, now);
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
		t = now + (step_list__busy(d->steps, now) ? BUSY_NS : CHECK_NS);
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

int daemon_turn(struct daemon *d, int timeout_ms)
{
	struct epoll_event ev[8];
	uint64_t now = clock__boot_ns();
	bool control_ready = false;
	int i, got;

	if (daemon_least_interval(d->steps) != d->least_ns)
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
