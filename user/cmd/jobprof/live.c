// SPDX-License-Identifier: GPL-2.0-only
/* jobprof live: the last rows of steps that run on this node. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "client/libjobprof.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/live.h"
#include "cmd/jobprof/client_conn.h"
#include "cmd/jobprof/verbs.h"
#include "identity/identity.h"
#include "schema/series.h"

#define WATCH_MIN 0.1
#define WATCH_MAX 86400.0
#define JOBS_MAX  1024u /* an array's tasks */

struct args {
	uint32_t jobs[JOBS_MAX]; /* 0: the caller's own step */
	unsigned njobs;
	char text[JOBSPEC_TEXT]; /* of a job's id, which may be that of an array; "": it is not */
	char step[32];
	const char *series;
	const struct live_format *format;
	double watch; /* seconds between rounds; 0: one round */
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static const struct opt opts[] = {
	{'j', "jobs", "JOB[.STEP]", "default: inside a job, the step this is called in"},
	{'s', "series", "SERIES", "only this one, as in Step, Tasks, Tasks/3, User/solver"},
	{'w', "watch", "S", "again every S seconds, 0.1 to 86400"},
	{OPT_LONG + 'f', "format", "F", "table (default), csv or json"},
	{0},
};

static const struct opt_values values[] = {
	{'s', series__print_names},
	{OPT_LONG + 'f', live_format__print_names},
	{0},
};

const struct command cmd_live = {
	.name = "jobprof live",
	.usage = "[-j JOB[.STEP]] [-s SERIES] [--watch S] [--format F]",
	.about = "The last rows of a job's steps on this node, while they run.",
	.opts = opts,
	.values = values,
};

/* A run outside of Slurm answers itself, whatever jobprofd there is. */
static void ask_run(uint32_t job)
{
	char path[64];

	snprintf(path, sizeof(path), CLIENT_CONN_RUN_DIR "/" CLIENT_CONN_RUN_FORM, (int)job);
	if (!access(path, F_OK))
		setenv("JOBPROF_SOCKET", path, 0);
}

/* jobprofd knows jobs by their own ids; which a task of an array or a component has, squeue knows.
 */
static int find_jobs(struct args *a, const struct jobspec *spec)
{
	char job[JOBSPEC_TEXT];

	snprintf(job, sizeof(job), "%.*s", (int)strcspn(spec->text, "."), spec->text);
	if (spec->kind == JOBSPEC_JOB) {
		ask_run(spec->job);
		a->jobs[0] = spec->job;
		a->njobs = 1;
		memcpy(a->text, job, sizeof(job));
		return 0;
	}
	a->njobs = slurmjob__running(job, a->jobs, JOBS_MAX);
	if (a->njobs)
		return 0;
	log_error("-j: squeue knows no job %s that runs", job);
	return 1;
}

static int set_job(struct args *a, const char *text)
{
	struct jobspec *jobs;
	unsigned n;
	char number[16];
	int status = select_args__jobs(&jobs, &n, text);

	if (status)
		return status;
	if (n != 1) {
		log_error("-j: \"%s\" is not one job or step, as in 42, 42.0 or 42_3", text);
		status = 2;
	} else {
		status = find_jobs(a, &jobs[0]);
		snprintf(number, sizeof(number), "%u", jobs[0].step);
		snprintf(a->step, sizeof(a->step), "%s",
			 jobs[0].any_step ? "" : stepname__human(number));
	}
	free(jobs);
	return status;
}

static int set_watch(struct args *a, const char *text)
{
	if (!parse_double(text, &a->watch) && a->watch >= WATCH_MIN && a->watch <= WATCH_MAX)
		return 0;
	log_error("--watch: \"%s\" is not a number of seconds from %g to %g", text, WATCH_MIN,
		  WATCH_MAX);
	return 2;
}

static int set_format(struct args *a, const char *text)
{
	a->format = live_format__find(text);
	if (a->format)
		return 0;
	log_error("--format: \"%s\" is not table, csv or json", text);
	return 2;
}

static int set_option(void *ctx, int letter, const char *arg)
{
	struct args *a = ctx;

	switch (letter) {
	case 'j':
		return set_job(a, arg);
	case 's':
		a->series = arg;
		return 0;
	case 'w':
		return set_watch(a, arg);
	default:
		return set_format(a, arg);
	}
}

struct round {
	const struct args *args;
	struct live_out *out;
	unsigned shown;
};

/* "Tasks" means all of "Tasks/<n>". */
static bool is_wanted(const char *wanted, const char *series)
{
	size_t len = wanted ? strlen(wanted) : 0;

	return !wanted || (!strncmp(series, wanted, len) && (!series[len] || series[len] == '/'));
}

static void show_table(const struct jobprof_table *t, void *arg)
{
	struct round *r = arg;

	if (!is_wanted(r->args->series, t->series))
		return;
	r->shown++;
	r->args->format->table(r->out, t);
}

/* Shows the rows of all jobs. The number of their tables, or -errno; -ESRCH only if no job is known
 * here, for a job may have all its tasks on other nodes. */
static int ask_jobs(const struct args *a, struct round *r, char reason[static 256])
{
	int sum = -ESRCH;

	for (unsigned i = 0; i < a->njobs; i++) {
		int n = jobprof_live(a->jobs[i], a->step, CLIENT_CONN_TIMEOUT_MS, show_table, r,
				     reason, 256);

		if (n < 0 && n != -ESRCH)
			return n;
		if (n >= 0)
			sum = n + (sum < 0 ? 0 : sum);
	}
	return sum;
}

static int one_round(struct args *a, struct live_out *out)
{
	struct round r = {.args = a, .out = out};
	char reason[256] = "";
	int n;

	if (a->format->begin)
		a->format->begin(out);
	n = ask_jobs(a, &r, reason);
	if (n == -ESRCH && a->text[0]) {
		a->njobs = slurmjob__running(a->text, a->jobs + 1, JOBS_MAX - 1) + 1;
		a->text[0] = 0;
		n = a->njobs > 1 ? ask_jobs(a, &r, reason) : n;
	}
	if (a->format->end)
		a->format->end(out, n >= 0);
	if (n < 0)
		return client_conn__failed(n, reason);
	if (r.shown)
		return 0;
	if (a->series && n)
		log_error("no rows of series \"%s\" yet", a->series);
	else
		log_error("no rows yet");
	return a->watch > 0 ? 0 : 1;
}

static void wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

int verb_live(int argc, char **argv)
{
	struct args a = {.njobs = 1, .format = live_format__find("table")};
	struct sigaction sa = {.sa_handler = on_signal};
	struct live_out out = {.file = stdout};
	int status = options__read(&cmd_live, argc, argv, set_option, &a);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc)
		return options__wrong(&cmd_live, "\"%s\" means nothing here", argv[optind]);
	out.compact = a.watch > 0;
	if (a.watch > 0) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
	}
	for (;;) {
		if (a.watch > 0 && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		status = one_round(&a, &out);
		if (fflush(stdout) || status || ended || a.watch <= 0)
			break;
		wait_s(a.watch);
		if (ended)
			break;
	}
	live_out__free(&out);
	return status;
}
