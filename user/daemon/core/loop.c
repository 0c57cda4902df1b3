/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop: the events that it waits for, the order of the work in a turn, and the end of the
 * service. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/budget/overhead.h"
#include "daemon/child/job_infos.h"
#include "daemon/config/check.h"
#include "daemon/core/core.h"
#include "daemon/daemon.h"
#include "daemon/files/automerge.h"
#include "daemon/files/files.h"
#include "daemon/files/live_findings.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/follow/follow.h"
#include "daemon/follow/kernel_watch.h"
#include "daemon/lookup/unwinding.h"
#include "daemon/node/node.h"
#include "daemon/record/step_stacks.h"
#include "daemon/socket/control.h"
#include "daemon/step/probed_regions.h"
#include "daemon/step/step_ask.h"
#include "schema/family.h"

/* ---- SIGHUP: the configuration is read again */

/* Families whose programs are loaded only if something asked for them at the start. */
#define OWN_PROGRAMS                                                                             \
	(FAM_LATENCY | FAM_BLOCK | FAM_NETWORK | FAM_PERF | FAM_FILES | FAM_WAIT | FAM_CULPRIT | \
	 FAM_SAMPLE | FAM_STACK | FAM_BURST | FAM_FOLD)

/* Logs which changed settings need a restart: maps and directories depend on them. */
static void log_restart_keys(const struct config *old, const struct config *fresh)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	config__print_restart(old, fresh, f);
	fclose(f);
	if (len)
		log_warn("%s: the new value is in force after a restart: systemctl restart "
			 "jobprofd",
			 text);
}

static void apply_config(struct daemon *d, const struct config *fresh, unsigned families)
{
	unsigned late = families & ~d->asked_families & OWN_PROGRAMS;
	struct config *cfg = d->opts.cfg;
	char names[256];

	cfg->freq = fresh->freq;
	cfg->live_files = fresh->live_files;
	cfg->publish_interval = fresh->publish_interval;
	cfg->journals = fresh->journals;
	cfg->metrics_jobs = fresh->metrics_jobs;
	if (cfg->overhead_budget != fresh->overhead_budget)
		overhead__set(&d->overhead, &d->env, fresh->overhead_budget);
	cfg->overhead_budget = fresh->overhead_budget;
	if (!config__is_overridden(cfg, "LogLevel"))
		cfg->log_level = fresh->log_level;
	log__set_level(cfg->log_level);
	family__list(late, names, sizeof(names));
	if (late)
		log_warn("ProfileHDF5Default: programs of %s are not loaded, as nothing asked for "
			 "them at the start: their columns are unknown until jobprofd is restarted",
			 names);
	d->opts.families = d->env.families = families;
	daemon_set_intervals(d);
}

/* Why the settings of the last SIGHUP are not in force, for the status; NULL: they are. */
static void note_refusal(struct daemon *d, const char *why)
{
	free(d->refused);
	d->refused = why ? strdup(why) : NULL;
	d->refused_ns = clock__boot_ns();
}

/* SIGHUP: reads the configuration again. Errors are logged, and the old settings stay. */
static void daemon_reload(struct daemon *d)
{
	const char *path = d->opts.config_path;
	struct config *fresh = path ? calloc(1, sizeof(*fresh)) : NULL;
	struct check_families f;

	if (!fresh || config__init(fresh))
		goto out;
	if (check__load(fresh, path, d->opts.config_needed, &f)) {
		note_refusal(d, fresh->error ? fresh->error : path);
		log_error("%s is not usable: the old settings stay in force", path);
	} else {
		note_refusal(d, NULL);
		apply_config(d, fresh, f.by_default);
		log_info(
			"settings read again: frequency, families, publishing, metrics%s limits of "
			"journals are in force",
			config__is_overridden(d->opts.cfg, "LogLevel") ? " and"
								       : ", log level and");
		log_restart_keys(d->opts.cfg, fresh);
	}
	config__free(fresh);
out:
	free(fresh);
}

#define ANSWERS_NS (NSEC_PER_SEC / 2)

#define BUSY_NS	 (5 * 1000 * 1000ull) /* while a step ends */
#define CHECK_NS (1 * NSEC_PER_SEC)   /* while anything runs */

static void reap_child(struct daemon *d, pid_t pid, int status, uint64_t now)
{
	struct step *s;

	for (s = d->steps; s; s = s->next)
		if (end_reason__reaped(&s->end_reason, pid))
			return;
	if (job_infos__reaped(d->env.jobs, pid, now))
		return;
	if (daemon_writer_reaped(d, pid, status, now) || lookups__reaped(d->env.lookups, pid) ||
	    unwinding__reaped(d->env.unwinding, pid, now))
		return;
	if (live_findings__reaped(d, pid, status))
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
		if (si.ssi_signo == SIGCHLD) {
			reap_children(d, now);
		} else if (si.ssi_signo == SIGHUP) {
			daemon_reload(d);
		} else if (d->opts.interrupt) {
			d->opts.interrupt(d->opts.ctx, si.ssi_signo, si.ssi_code == SI_KERNEL);
		} else if (si.ssi_signo == SIGUSR1) {
			d->handover = d->stop = true;
		} else {
			d->stop = true;
			d->stop_signal = si.ssi_signo;
		}
	}
}

/* The wall clock was set: rows keep the time of their step, and new steps use the grid of the new
 * clock. */
static void take_clock_step(int clockfd, uint64_t *clock_steps)
{
	struct itimerspec far = {.it_value = {.tv_sec = 1ll << 40}};
	uint64_t n;

	if (read(clockfd, &n, sizeof(n)) < 0 && errno == ECANCELED)
		(*clock_steps)++;
	timerfd_settime(clockfd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

static uint64_t next_wake(const struct daemon *d, uint64_t now)
{
	uint64_t t = UINT64_MAX;
	const struct step *s;

	if (d->steps || d->pending_files)
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
	if (d->steps && kern__points_due(d->env.k) < t)
		t = kern__points_due(d->env.k);
	if (d->steps && probed_regions__due(d->env.probed) < t)
		t = probed_regions__due(d->env.probed);
	if (d->steps && overhead__due(&d->overhead) < t)
		t = overhead__due(&d->overhead);
	if (lookups__due(d->env.lookups) < t)
		t = lookups__due(d->env.lookups);
	if (control__due(d->control) < t)
		t = control__due(d->control);
	return t;
}

/*
 * Waits until the next instant at which something is due, at most timeout_ms (-1: no limit).
 * epoll_pwait2() has a timeout in ns from 5.11 on: a timerfd would have to be set and read in each
 * turn. The timeout's clock stands still while the machine sleeps, so a sample after that is late
 * by the rest of its wait.
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

/* Signals, a clock that was set. True: the socket is to be served. */
static bool take_ready(struct daemon *d, const struct epoll_event *ev, int n, uint64_t now)
{
	bool control_ready = false;

	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == d->sigfd)
			take_signals(d, now);
		else if (ev[i].data.fd == d->clockfd)
			take_clock_step(d->clockfd, &d->env.clock_steps);
		else if (ev[i].data.fd == control__fd(d->control))
			control_ready = true;
	}
	return control_ready;
}

/* Rows of what other programs have sent, and on the grid those of a snapshot. */
static void write_rows(struct daemon *d, uint64_t now)
{
	bool due = now >= d->next_sample_ns;

	if (due)
		control__read_rings(d->control, now);
	if (d->env.external_rows)
		request_match__journal_external(d->steps, &d->env);
	d->env.external_rows = false;
	if (!due)
		return;
	overhead__before_rows(&d->overhead, &d->env);
	sampling__rows(&d->env);
	overhead__after_rows(&d->overhead, &d->env);
	daemon_schedule_sample(d, clock__boot_ns());
}

/* Waits for events, at most timeout_ms (-1: until something is due), and does what is due. 0 or
 * -errno. */
static int run_turn(struct daemon *d, int timeout_ms)
{
	struct epoll_event ev[8];
	uint64_t now = clock__boot_ns();
	bool control_ready;
	int got;

	if (sampling__least_interval(&d->env) != d->least_ns)
		daemon_schedule_sample(d, now);
	got = wait_for(d, ev, 8, now, timeout_ms);
	if (got < 0 && errno != EINTR)
		return -errno;
	now = clock__boot_ns();
	control_ready = take_ready(d, ev, got, now);
	lookups__turn(d->env.lookups, now);
	step_stacks__unwound(&d->env);
	unwinding__watch(d->env.unwinding, now);
	if (control_ready || now >= control__due(d->control))
		control__turn(d->control, now);
	kernel_watch__take_events(&d->watch, now);
	if (d->watch.sync || !daemon_in_sync(d))
		daemon_sync_steps(d);
	kernel_watch__end_turn(&d->watch, now);
	kernel_watch__log_losses(&d->watch, now);
	kern__book(d->env.k);
	write_rows(d, now);
	kern__vary_points(d->env.k, now);
	overhead__turn(&d->overhead, &d->env, now);
	sampling__watch_node(&d->env, now);
	daemon_advance(d, clock__boot_ns());
	if (d->env.new_findings)
		control__send_findings(d->control, now);
	d->env.new_findings = false;
	kernel_watch__rescan_due(&d->watch, now);
	kernel_watch__detach_idle(&d->watch, now);
	return 0;
}

int daemon__loop(struct daemon *d)
{
	int err = 0;

	while (!err && !d->stop && !(d->opts.done && d->opts.done(d->opts.ctx)))
		err = run_turn(d, -1);
	return err;
}

/* A file that cannot be written now is not awaited: the journal stays, and the next start takes it
 * up. */
static bool is_awaited(const struct publication *p)
{
	return p->pid || !p->failures;
}

/* A journal that cannot be completed is not awaited either. */
static bool is_step_awaited(const struct step *s)
{
	return !s->journal && is_awaited(&s->pub);
}

static bool still_writing(const struct step *steps, const struct pending_file *pending_files)
{
	const struct pending_file *o = pending_files;
	const struct step *s = steps;

	while (s && !is_step_awaited(s))
		s = s->next;
	while (o && !is_awaited(&o->pub))
		o = o->next;
	return s || o;
}

static bool any_asks(const struct step *s)
{
	for (; s; s = s->next)
		if (step__asks(s))
			return true;
	return false;
}

/* Waits, for a short time, for answers about steps that end with the daemon. */
static void wait_for_answers(struct daemon *d)
{
	uint64_t now = clock__boot_ns(), end = now + ANSWERS_NS;

	while (now < end && any_asks(d->steps)) {
		struct pollfd p = {.fd = lookups__fd(d->env.lookups), .events = POLLIN};

		lookups__turn(d->env.lookups, now);
		daemon_sync_steps(d);
		poll(&p, 1, 20);
		now = clock__boot_ns();
	}
}

/* Ends one step with the counts of the snapshot. */
static void finish_step(struct step *s, const struct step_env *env, const char *reason)
{
	step__identify(s, env, *env->steps, true);
	if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
		step__last_rows(s, env);
	if (s->state == STEP_ACTIVE || s->state == STEP_ENDING || s->state == STEP_ASKING) {
		step__finish(s, env, s->state == STEP_ASKING ? NULL : reason);
		s->pub.next_ns = s->pub.failures = 0;
	} else if (s->state == STEP_NEW || s->state == STEP_IGNORED) {
		step__release(s, env->k);
		s->state = STEP_DONE;
	}
}

void daemon__finish(struct daemon *d, const char *reason, unsigned seconds)
{
	uint64_t end = clock__boot_ns() + seconds * NSEC_PER_SEC;
	struct step *s;

	if (d->handover) {
		if (d->env.families) /* a step may begin before the next one is there */
			kernel_watch__attach(d->env.k);
		return;
	}
	daemon_sync_steps(d);
	d->finishing = true;
	for (s = d->steps; s; s = s->next)
		step__identify(s, &d->env, d->steps, true);
	wait_for_answers(d);
	d->env.leaving = true;
	for (s = d->steps; s; s = s->next) {
		if (s->state == STEP_ACTIVE)
			control__read_last(d->control, s, clock__boot_ns());
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			step__close(s, &d->env);
	}
	step_stacks__settle(&d->env);
	if (!snapshot__take(d->env.snap))
		for (s = d->steps; s; s = s->next)
			finish_step(s, &d->env, reason);
	while (still_writing(d->steps, d->pending_files) && clock__boot_ns() < end)
		run_turn(d, 50);
	if (d->steps || d->pending_files)
		log_warn("some files are not finished: their journals stay in %s and are taken up "
			 "by the next start",
			 d->env.state_dir);
}
