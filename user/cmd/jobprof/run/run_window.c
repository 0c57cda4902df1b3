// SPDX-License-Identifier: GPL-2.0-only
/* "jobprof run" without root: jobprofd counts the step anyway, and is asked before the command and
 * after it. */
#include "cmd/jobprof/run/run_window.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "client/column.h"
#include "client/totals.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/run/run_json.h"
#include "cmd/jobprof/run/run_user.h"

/* A step that has just begun is asked again every so often, so many times. */
#define YOUNG_MS    20
#define YOUNG_TRIES 100

static const char *const columns[N_WINDOW_COLUMNS] = {
	[WINDOW_TIME_NS] = "TimeNS",	    [WINDOW_CPU] = "CPUTime",
	[WINDOW_USER] = "UserTime",	    [WINDOW_SYSTEM] = "SystemTime",
	[WINDOW_WAIT] = "RunDelay",	    [WINDOW_DISK_WAIT] = "OffCPUDisk",
	[WINDOW_VOLUNTARY] = "VolSwitches", [WINDOW_FORCED] = "InvolSwitches",
	[WINDOW_READ] = "ReadMB",	    [WINDOW_WRITE] = "WriteMB",
	[WINDOW_DISK_READ] = "DiskReadMB",  [WINDOW_DISK_WRITE] = "DiskWriteMB",
	[WINDOW_NET_RX] = "NetRxMB",	    [WINDOW_NET_TX] = "NetTxMB",
	[WINDOW_PEAK] = "PeakMB",
};

static int64_t time_of(const struct jobprof_table *t)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->columns[i].name, columns[WINDOW_TIME_NS]))
			return (int64_t)t->cells[i].u;
	return 0;
}

static void take_table(const struct jobprof_table *t, void *arg)
{
	struct window_totals *to = arg;
	double *v = to->v[strcmp(t->series, "Step") ? WINDOW_TASK : WINDOW_STEP];

	str__copy(to->step, sizeof(to->step), t->step);
	if (t->nrows && !strcmp(t->series, "Step"))
		to->time_ns = time_of(t);
	for (unsigned i = 0; t->nrows && i < t->ncols; i++)
		for (int c = 0; c < N_WINDOW_COLUMNS; c++)
			if (!strcmp(columns[c], t->columns[i].name))
				v[c] = t->columns[i].is_double ? t->cells[i].d
							       : (double)t->cells[i].u;
}

/* The journal is the caller's. 0 or -errno, with a reason for people or "". */
static int ask_totals(uint32_t task, unsigned flags, struct window_totals *to, int *journal,
		      char reason[static 256])
{
	int n;

	to->step[0] = 0;
	for (int t = 0; t < N_WINDOW_TABLES; t++)
		for (int c = 0; c < N_WINDOW_COLUMNS; c++)
			to->v[t][c] = NAN;
	n = totals__ask(task, flags, CLIENT_CONN_TIMEOUT_MS, take_table, to, journal, reason, 256);
	if (n >= 0 && isnan(to->v[WINDOW_STEP][WINDOW_TIME_NS]))
		return -ENODATA; /* of the step nothing but external series is recorded */
	return n < 0 ? n : 0;
}

static int ask_first(struct window *w, bool with_rows, char reason[static 256])
{
	const struct timespec pause = {.tv_nsec = YOUNG_MS * 1000000L};
	int err = -EAGAIN, none;

	for (int i = 0; err == -EAGAIN && i < YOUNG_TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = ask_totals(w->task, with_rows ? JPC_F_ROWS : 0, &w->before, &none, reason);
	}
	return err;
}

static int refuse(int err, const char *reason)
{
	const char *why = err == -ENOTCONN  ? "no jobprofd runs on this node: ask the site for it"
			  : err == -ESRCH   ? "jobprofd profiles no step here"
			  : err == -ENODATA ? "no counts of this step are recorded"
			  : err == -EOPNOTSUPP ? "jobprofd is of an older version"
			  : *reason	       ? reason
					       : strerror(-err);

	log_error("%s, CMD must run in a step that jobprofd profiles, as with srun --jobprof=all "
		  "(%s)",
		  geteuid() ? "profiling needs root to load BPF programs: sudo jobprof run ...; "
			      "without root"
			    : "the kernel lets this root load no BPF programs, as in a container "
			      "without CAP_BPF and CAP_PERFMON: here",
		  why);
	return 1;
}

/* A mark that is lost is lost to the file alone: the page does not need it. */
static void set_mark(const char *text)
{
	struct jpc_mark m = {.time_ns = client_conn__now_ns()};
	_cleanup_free_ char *name = NULL;
	struct client c;
	unsigned replaced;

	name = utf8__clean(text, sizeof(m.name) - 1, &replaced);
	if (!name || column__mark_name(m.name, name) || client_conn__open(&c))
		return;
	client__head(&c, &m, JPC_MARK, sizeof(m));
	client_conn__call(&c, &m);
	client__close(&c);
}

static void exec_command(char **argv, const sigset_t *mask)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	log_error("cannot run %s: %s", argv[0], strerror(err));
	_exit(RUN_STATUS(err));
}

/* A signal typed at the terminal has reached the command already; one sent to us alone is passed
 * on, but for SIGHUP. */
static void wait_for(struct window *w, pid_t pid, const sigset_t *signals)
{
	siginfo_t si;
	int status = 0;
	pid_t ended;

	while (!(ended = wait4(pid, &status, WNOHANG, &w->use)) || (ended < 0 && errno == EINTR)) {
		int sig = sigwaitinfo(signals, &si);

		if (sig > 0 && sig != SIGCHLD && sig != SIGHUP && si.si_code != SI_KERNEL)
			kill(pid, sig);
	}
	w->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* 0 or -errno: the command was not started. */
static int run_command(struct window *w)
{
	static const int taken[] = {SIGCHLD, SIGINT,  SIGTERM, SIGQUIT,
				    SIGHUP,  SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t signals, mask;
	pid_t pid;

	sigemptyset(&signals);
	for (unsigned i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&signals, taken[i]);
	signal(SIGCHLD, SIG_DFL); /* where it is ignored, no child can be waited for */
	sigprocmask(SIG_BLOCK, &signals, &mask);
	pid = fork();
	if (!pid)
		exec_command(w->argv, &mask);
	if (pid < 0)
		return -errno;
	wait_for(w, pid, &signals);
	return 0;
}

static double own_cores(void)
{
	cpu_set_t *set = CPU_ALLOC(8192);
	size_t size = CPU_ALLOC_SIZE(8192);
	double n = set && !sched_getaffinity(0, size, set) ? CPU_COUNT_S(size, set) : NAN;

	CPU_FREE(set);
	return n;
}

/* Asks jobprofd what has been used up to now, and sets the second mark. 0 or -errno. */
static int close_window(struct window *w)
{
	char reason[256];
	int err = ask_totals(w->task, JPC_F_ROWS | JPC_F_JOURNAL, &w->after, &w->journal, reason);

	if (!err && strcmp(w->before.step, w->after.step))
		err = -ESRCH;
	if (!err && w->after.v[WINDOW_STEP][WINDOW_CPU] < w->before.v[WINDOW_STEP][WINDOW_CPU])
		err = -ESTALE;
	if (err)
		log_error("no page about %s: jobprofd %s", w->argv[0],
			  err == -ENOTCONN || err == -ECONNRESET || err == -EPIPE
				  ? "has gone while it ran"
			  : err == -ESTALE ? "has begun to count anew while it ran"
			  : *reason	   ? reason
					   : "does not answer");
	else
		set_mark("run end");
	return err;
}

static int run_between_marks(struct window *w)
{
	char begin[4096];
	int err;

	snprintf(begin, sizeof(begin), "run begin: %s", w->argv[0]);
	w->begin_ns = client_conn__now_ns();
	set_mark(begin);
	err = run_command(w);
	if (err)
		log_error("cannot start %s: %s", w->argv[0], strerror(-err));
	return err;
}

struct outcome {
	const struct window *w;
	struct journal_file file;
	bool has_rows;
};

static int write_json(void *outcome, FILE *out)
{
	const struct outcome *o = outcome;

	window__print_json(o->w, o->has_rows ? window_report__json(o->w, &o->file) : NULL, out);
	return 0;
}

/* json: the file, or NULL. 0 or 1. */
static int print_outcome(const struct window *w, const struct run_user *self, const char *json,
			 bool quiet)
{
	struct outcome o = {.w = w};
	int status = 0;

	o.has_rows = !window_report__rows(w, &o.file);
	if (!quiet && o.has_rows && !window_report__print(w, &o.file))
		window__print_foot(w);
	else if (!quiet)
		window__print(w);
	if (json)
		status = run_json__write(self, json, write_json, &o);
	journal_file__remove(&o.file);
	return status;
}

int run_window__run(char **argv, const char *option, const char *json, bool quiet)
{
	_cleanup_free_ char *command = command_line__of(argv);
	struct window w = {.argv = argv, .command = command, .cores = own_cores(), .journal = -1};
	const char *task = getenv("SLURM_PROCID");
	/* also where SUDO_UID names another one: a container has no way to become that */
	const struct run_user self = {.uid = geteuid(), .gid = getegid()};
	char reason[256];
	int status, failed = 0;

	if (!task || parse_u32(task, &w.task))
		w.task = JPC_UNKNOWN;
	status = ask_first(&w, (!quiet || json) && !option, reason);
	if (status)
		return refuse(status, reason);
	if (option) {
		log_error("--%s needs root%s: without root the step's own profile is used, and run "
			  "has --json, --overwrite and --quiet only",
			  option, geteuid() ? "" : " that may load BPF programs");
		return 2;
	}
	status = run_user__command(&self, argv[0]);
	if (!status && json)
		status = run_json__try(&self, json);
	if (status)
		return status;
	if (run_between_marks(&w))
		return 1;
	if (quiet && !json)
		set_mark("run end");
	else if (close_window(&w))
		return w.status;
	else
		failed = print_outcome(&w, &self, json, quiet);
	if (w.journal >= 0)
		close(w.journal);
	return w.status ? w.status : failed;
}
