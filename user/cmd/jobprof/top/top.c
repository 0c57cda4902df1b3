/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof top: what jobs, steps and tasks on this node do now, or the nodes of one job. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/top/top_look.h"
#include "cmd/jobprof/verbs.h"

#define DELAY_MIN 0.1
#define DELAY_MAX 86400.0
#define WIDTH_MAX 512u

struct args {
	const char *job, *where, *user;
	double delay;
	uint32_t rounds, width; /* 0: not given */
	bool batch, flat;
	unsigned sort; /* enum top_value */
};

static const struct {
	const char *name;
	unsigned value;
} sorts[] = {
	{"cpu", TOP_CPU},	   {"wait", TOP_WAIT},
	{"memory", TOP_MEMORY},	   {"disk", TOP_DISK_RATE},
	{"network", TOP_NET_RATE}, {"energy", TOP_POWER},
	{"time", TOP_TIME},	   {"id", TOP_ID},
};

static void print_sorts(FILE *out)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		fprintf(out, "%s ", sorts[i].name);
}

static int set_sort(void *to, const struct opt *o, const char *text)
{
	struct args *a = to;

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (!strcasecmp(text, sorts[i].name)) {
			a->sort = sorts[i].value;
			return 0;
		}
	log_error("--sort: \"%s\" is none of cpu, wait, memory, disk, network, energy, time, id",
		  text);
	return 2;
}

static int set_delay(void *to, const struct opt *o, const char *text)
{
	double *s = to;

	if (!parse_double(text, s) && *s >= DELAY_MIN && *s <= DELAY_MAX)
		return 0;
	log_error("--delay: \"%s\" is not a number of seconds from %g to %g", text, DELAY_MIN,
		  DELAY_MAX);
	return 2;
}

static int set_count(void *to, const struct opt *o, const char *text)
{
	uint32_t *n = to;

	if (!parse_u32(text, n) && *n > 0)
		return 0;
	log_error("--%s: \"%s\" is not a number from 1 on", o->name, text);
	return 2;
}

static const struct opt opts[] = {
	{'j', "jobs", "JOB", "this job alone; away from its nodes: a row for each of them",
	 OPT_TEXT(struct args, job)},
	{'p', "profiledir", "DIR", "its nodes by the files there, and in users' directories below",
	 OPT_TEXT(struct args, where)},
	{'u', "user", "NAME", "only the jobs of this user", OPT_TEXT(struct args, user)},
	{'d', "delay", "S", "another look every S seconds, 0.1 to 86400; 3 without",
	 OPT_CALL_AT(set_delay, struct args, delay)},
	{'n', "rounds", "N", "ends after N looks", OPT_CALL_AT(set_count, struct args, rounds)},
	{'b', "batch", NULL, "prints text, one look after the other, and reads no keys",
	 OPT_FLAG(struct args, batch)},
	{'o', "sort", "KEY", "cpu (default), wait, memory, disk, network, energy, time or id",
	 OPT_CALL(set_sort), .values = print_sorts},
	{0, "flat", NULL, "a list of tasks, not a tree of jobs", OPT_FLAG(struct args, flat)},
	{'w', "width", "COLUMNS", "of -b; without, COLUMNS of the environment, else 80",
	 OPT_CALL_AT(set_count, struct args, width)},
	{0},
};

const struct command cmd_top = {
	.name = "jobprof top",
	.usage = "[-j JOB] [-u USER] [-d S] [-b] [-n N]",
	.about = "Jobs, steps and tasks on this node, by what they use now: CPU, waiting, memory,\n"
		 "disk, network, energy. With -j on a node that is none of the job's: its nodes,\n"
		 "by the files of its steps. Key h explains the keys.",
	.opts = opts,
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static unsigned batch_width(const struct args *a)
{
	const char *columns = getenv("COLUMNS");
	uint32_t n;

	if (a->width)
		return a->width < WIDTH_MAX ? a->width : WIDTH_MAX;
	return columns && !parse_u32(columns, &n) && n > 0 && n <= WIDTH_MAX ? n : 80;
}

static void print_round(struct top *t, unsigned width)
{
	char lines[TOP_HEAD_MAX][TOP_LINE], line[TOP_LINE];
	struct top_head head = top__head(t);
	struct top_span spans[24];
	unsigned n, from, to;

	top__arrange(t, width);
	n = top_text__head(lines, &head, width);
	for (unsigned i = 0; i < n; i++)
		puts(lines[i]);
	top_text__columns(line, &t->layout, &t->view, &from, &to);
	printf("\n%s\n", line);
	for (unsigned i = 0; i < t->view.nshown; i++) {
		top_text__row(line, spans, &t->layout, &t->view, &t->rows.v[t->view.shown[i]]);
		puts(line);
	}
}

static void wait_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

/* One look after the other, with an empty line between them. */
static int run_batch(struct top *t, const struct args *a)
{
	struct sigaction sa = {.sa_handler = on_signal};
	unsigned width = batch_width(a);

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	for (uint32_t i = 0; !ended;) {
		print_round(t, width);
		if (fflush(stdout))
			return 1;
		if (a->rounds && ++i >= a->rounds)
			break;
		wait_s(t->delay);
		if (ended)
			break;
		top__look(t);
		if (t->trouble[0]) {
			log_error("%s", t->trouble);
			return 1;
		}
		putchar('\n');
	}
	return 0;
}

int verb_top(int argc, char **argv)
{
	struct args a = {.delay = 3, .sort = TOP_CPU};
	struct top t = {.rows.node_power = NAN};
	int status = options__read(&cmd_top, argc, argv, &a);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind != argc)
		return options__wrong(&cmd_top, "\"%s\" means nothing here", argv[optind]);
	if (a.where && !a.job)
		return options__wrong(&cmd_top, "-p is for the nodes of a job: add -j JOB");
	t.job = a.job;
	t.where = a.where;
	t.delay = a.delay;
	t.view.sort = a.sort;
	t.view.flat = a.flat;
	if (a.user)
		snprintf(t.view.user, sizeof(t.view.user), "%s", a.user);
	status = top__begin(&t);
	if (!status)
		status = a.batch ? run_batch(&t, &a) : top_keys__run(&t, a.rounds);
	top__free(&t);
	return status;
}
