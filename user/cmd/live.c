// SPDX-License-Identifier: GPL-2.0-only
/* jobprof live: the last rows of steps that run on this node. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "client/libjobprof.h"
#include "cmd/choice.h"
#include "cmd/live.h"
#include "cmd/talk.h"
#include "cmd/verbs.h"
#include "job/stepname.h"

#define WATCH_MIN 0.1
#define WATCH_MAX 86400.0

struct args {
	uint32_t job; /* 0: the caller's own step */
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

const struct command cmd_live = {
	.name = "jobprof live",
	.usage = "[-j JOB[.STEP]] [-s SERIES] [--watch S] [--format F]",
	.about = "The last rows of a job's steps on this node, while they run.",
	.opts = opts,
};

static int set_job(struct args *a, const char *text)
{
	struct jobspec *jobs;
	unsigned n;
	char number[16];
	int status = choice__jobs(&jobs, &n, text);

	if (status)
		return status;
	if (n != 1 || jobs[0].kind != JOBSPEC_JOB) {
		log_error("-j: \"%s\" is not one job or step, as in 42 or 42.0", text);
		status = 2;
	} else {
		a->job = jobs[0].job;
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

static int take(void *ctx, int letter, const char *arg)
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

static int one_round(const struct args *a, struct live_out *out)
{
	struct round r = {.args = a, .out = out};
	char why[256];
	int n;

	if (a->format->begin)
		a->format->begin(out);
	n = jobprof_live(a->job, a->step, TALK_TIMEOUT_MS, show_table, &r, why, sizeof(why));
	if (a->format->end)
		a->format->end(out, n >= 0);
	if (n < 0)
		return talk__failed(n, why);
	if (r.shown || a->watch > 0)
		return 0;
	if (a->series && n)
		log_error("no rows of series \"%s\" yet", a->series);
	else
		log_error("no rows yet");
	return 1;
}

static void wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

int verb_live(int argc, char **argv)
{
	struct args a = {.format = live_format__find("table")};
	struct sigaction sa = {.sa_handler = on_signal};
	struct live_out out = {.file = stdout};
	int status = options__read(&cmd_live, argc, argv, take, &a);

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
