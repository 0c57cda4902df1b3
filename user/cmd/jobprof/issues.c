/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof issues: PIKA's table of what is wrong with the jobs of users, projects and programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobprof/site_groups.h"
#include "cmd/jobprof/verbs.h"

/* The sum of part over the sum of whole, of jobs where both are known. */
#define RATIO(part, whole)                                                    \
	"sum(CASE WHEN j." whole " IS NULL THEN NULL ELSE j." part " END) / " \
	"NULLIF(sum(CASE WHEN j." part " IS NULL THEN NULL ELSE j." whole " END), 0)"

/* F. Winkler, "Efficient monitoring of HPC jobs", 2023. The table has eligible jobs only. */
static const char of_jobs[] = "count(*), sum(j.idle_cpu_s), " RATIO(
	"idle_cpu_s",
	"idle_of_cpu_s") ", "
			 "max(j.unused_ratio), max(j.cpu_imbalance), max(j.io_blocking), "
			 "max(j.io_congestion), "
			 "max(j.memory_leak), sum(j.idle_gpu_s), " RATIO(
				 "idle_gpu_s",
				 "idle_of_gpu_s") ", "
						  "max(j.unused_gpu_ratio), max(j.gpu_imbalance), "
						  "max(j.offloads)";

static const struct site_column columns[] = {
	{"key", "", NULL, CELL_TEXT, 0, 24},	       {"runs", "runs", NULL, CELL_COUNT, 0, 0},
	{"ict", "ICT core-h", NULL, CELL_HOURS, 0, 0}, {"icr", "ICR%", NULL, CELL_SHARE, 0, 0},
	{"max_ucr", "UCR", NULL, CELL_NUMBER, 1, 0},   {"max_cli", "CLI", NULL, CELL_NUMBER, 2, 0},
	{"max_iob", "IOB", NULL, CELL_NUMBER, 3, 0},   {"max_ioc", "IOC", NULL, CELL_NUMBER, 4, 0},
	{"max_ml", "ML", NULL, CELL_NUMBER, 5, 0},     {"igt", "IGT GPU-h", NULL, CELL_HOURS, 6, 0},
	{"igr", "IGR%", NULL, CELL_SHARE, 7, 0},       {"max_ugr", "UGR", NULL, CELL_NUMBER, 8, 0},
	{"max_gli", "GLI", NULL, CELL_NUMBER, 9, 0},   {"max_so", "SO", NULL, CELL_NUMBER, 10, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static const struct site_note notes[] = {
	{"ict", "ICT idle CPU time"},
	{"icr", "ICR of the time of all cores"},
	{"igt", "IGT idle GPU time"},
	{"igr", "IGR of the time of all GPUs"},
	{NULL, "the others are the most of one job"},
	{"max_ucr", "UCR cores unused"},
	{"max_cli", "CLI CPU load imbalance"},
	{"max_iob", "IOB periods of blocking I/O"},
	{"max_ioc", "IOC I/O congestion"},
	{"max_ml", "ML memory leak"},
	{"max_ugr", "UGR GPUs unused"},
	{"max_gli", "GLI GPU load imbalance"},
	{"max_so", "SO periods of synchronous offloading"},
};

static void print_sorts(FILE *out)
{
	site_filter__print_sorts(out, columns + 1, N_COLUMNS - 1);
}

static const struct opt opts[] = {
	OPT_BY,
	OPTS_FILTER(struct site_groups_options),
	OPT_SORT(struct site_groups_options, "ict"),
	OPTS_DATABASE(struct site_groups_options),
	OPTS_FORM(struct site_groups_options),
	{0},
};

const struct command cmd_issues = {
	.name = "jobprof issues",
	.usage = "[--by WORD] [OPTION]...",
	.about =
		"PIKA's issues of jobs of an hour and more with two cores or more that completed:\n"
		"their idle CPU time, and of the other issues the worst of a job; without options\n"
		"of the last 30 days.",
	.opts = opts,
};

enum { RUNS = 1, ICT };

static void print_head(const struct db_value *all, const struct site_args *a,
		       double without_profile)
{
	const double runs = db_value__number(&all[RUNS]), idle_s = db_value__number(&all[ICT]);
	char count[SITE_CELL], idle[SITE_CELL], *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	site_cell__put(count, CELL_COUNT, runs);
	site_cell__put(idle, CELL_HOURS, idle_s);
	if (out) {
		fprintf(out, "%s job%s", count, runs == 1 ? "" : "s");
		site_args__print_times(out, a);
		fputs(" that completed and ran an hour or more on two cores or more, of which "
		      "profiles are known",
		      out);
		if (!isnan(idle_s))
			fprintf(out, ": %s core-h idle", idle);
	}
	if (out && !fclose(out))
		site_table__wrap(text, site_table__width(stdout), stdout);
	free(text);
	site_filter__print_unknown(without_profile, "is wrong there");
	putchar('\n');
}

/* jobprof jobs has no option for eligible jobs: these options select them, and some others. */
static void narrow(struct site_args *a)
{
	static char ran[64];
	const double least = a->filter.range[RANGE_RAN].least,
		     most = a->filter.range[RANGE_RAN].most;

	a->filter.state = "completed";
	if (least >= 3600)
		return;
	if (isnan(most))
		snprintf(ran, sizeof(ran), "1h-");
	else
		snprintf(ran, sizeof(ran), "1h-%.0fs", most);
	a->range_word[RANGE_RAN] = ran;
}

int verb_issues(int argc, char **argv)
{
	const struct site_groups g = {.command = &cmd_issues,
				      .columns = columns,
				      .ncolumns = N_COLUMNS,
				      .nasked = N_COLUMNS,
				      .sort = "ict",
				      .of_jobs = of_jobs,
				      .and = " AND j.is_eligible = 1",
				      .and_unknown =
					      " AND j.state = 'COMPLETED' AND j.elapsed_s >= "
					      "3600 AND COALESCE(j.cores, j.cpus) > 1",
				      .head = print_head,
				      .notes = notes,
				      .nnotes = sizeof(notes) / sizeof(*notes),
				      .narrow = narrow,
				      .but = ", among jobs of one core or without a profile"};
	struct site_groups_options o = {0};
	int status;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_issues, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_issues, "\"%s\": jobs are selected by options",
				      argv[optind]);
	return site_groups__run(&g, &o);
}
