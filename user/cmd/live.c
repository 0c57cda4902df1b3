// SPDX-License-Identifier: GPL-2.0-only
/* jobprof live: the last rows of steps that run on this node. */
#include <getopt.h>
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

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof live [-j JOB[.STEP]] [-s SERIES] [--watch S] [--format F]\n\n"
		"The last rows of a job's steps on this node, while they run.\n\n"
		"  -j, --jobs JOB[.STEP]  default: inside a job, the step this is called in\n"
		"  -s, --series SERIES    only this one, as in Step, Tasks, Tasks/3, User/solver\n"
		"  -w, --watch S          again every S seconds, 0.1 to 86400\n"
		"      --format F         table (default), csv or json\n");
	return out == stdout ? 0 : 2;
}

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

static int parse_args(struct args *a, int argc, char **argv)
{
	static const struct option options[] = {
		{"jobs", required_argument, NULL, 'j'},	 {"series", required_argument, NULL, 's'},
		{"watch", required_argument, NULL, 'w'}, {"format", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},	 {0},
	};
	int o, status = 0;

	while (!status && (o = getopt_long(argc, argv, "j:s:w:h", options, NULL)) != -1) {
		if (o == 'j')
			status = set_job(a, optarg);
		else if (o == 's')
			a->series = optarg;
		else if (o == 'w')
			status = set_watch(a, optarg);
		else if (o == 'f')
			status = set_format(a, optarg);
		else
			return usage(o == 'h' ? stdout : stderr) ? 2 : -1;
	}
	return status || optind == argc ? status : usage(stderr);
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
	int status = parse_args(&a, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
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
