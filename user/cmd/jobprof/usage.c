/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof usage: what users, projects and programs held, what of that was lost. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobprof/site_groups.h"
#include "cmd/jobprof/usage_io.h"
#include "cmd/jobprof/verbs.h"
#include "index/sums.h"

/* In the order of sums__columns, behind what the rows have in common; then what is made of them. */
static const struct site_column columns[] = {
	{"key", "", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"profiled", "profiled", NULL, CELL_HIDDEN, 0, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 0, 0},
	{"held_cpu_s", "held CPU-h", NULL, CELL_HIDDEN, 0, 0},
	{"held_gpu_s", "held GPU-h", NULL, CELL_HOURS, 8, 0},
	{"profiled_core_s", "profiled core-h", NULL, CELL_HIDDEN, 0, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0},
	{"lost_gpu_s", "lost GPU-h", NULL, CELL_HOURS, 9, 0},
	{"cpu_s", "CPU s", NULL, CELL_HIDDEN, 0, 0},
	{"energy_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"energy_low_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"energy_high_j", "energy J", NULL, CELL_HIDDEN, 0, 0},
	{"findings", "findings", NULL, CELL_COUNT, 5, 0},
	{"run_s", "run time h", NULL, CELL_HOURS, 10, 0},
	{"footprints", "footprints", NULL, CELL_COUNT, 13, 0},
	{"max_nodes", "most nodes", NULL, CELL_COUNT, 11, 0},
	{"max_cores", "most cores", NULL, CELL_COUNT, 12, 0},
	{"max_pending_s", "longest pending", NULL, CELL_DURATION, 14, 0},
	{"cpu_share", "CPU%", NULL, CELL_SHARE, 3, 0},
	{"lost_share", "lost%", NULL, CELL_SHARE, 1, 0},
	{"trend", "trend", NULL, CELL_POINTS, 2, 0},
	{"of_all_lost", "of all lost%", NULL, CELL_SHARE, 4, 0},
	{"without_profile", "no profile%", NULL, CELL_SHARE, 3, 0},
	{"jobs_before", "jobs before", NULL, CELL_HIDDEN, 0, 0},
	{"held_core_s_before", "held before", NULL, CELL_HIDDEN, 0, 0},
	{"profiled_core_s_before", "profiled before", NULL, CELL_HIDDEN, 0, 0},
	{"lost_core_s_before", "lost before", NULL, CELL_HIDDEN, 0, 0},
	{"energy_kwh", "kWh", NULL, CELL_NUMBER, 6, 0},
	{"money_held", "held money", NULL, CELL_HIDDEN, 0, 0},
	{"money_lost", "lost money", NULL, CELL_NUMBER, 1, 0},
	{"energy_money", "energy", NULL, CELL_HIDDEN, 0, 0},
	{"co2_kg", "kg CO2", NULL, CELL_NUMBER, 7, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

enum {
	KEY,
	JOBS,
	PROFILED,
	HELD,
	HELD_CPU,
	HELD_GPU,
	PROFILED_S,
	LOST,
	LOST_GPU,
	CPU,
	ENERGY,
	N_SUMS = 19,
	CPU_SHARE = N_SUMS,
	LOST_SHARE,
	TREND,
	OF_ALL,
	WITHOUT,
	JOBS_BEFORE,
	HELD_BEFORE,
	PROFILED_BEFORE,
	LOST_BEFORE,
	KWH,
	MONEY_HELD,
	MONEY_LOST,
	ENERGY_MONEY,
	CO2
};

enum { WAS_JOBS = 1, WAS_HELD, WAS_PROFILED, WAS_LOST, N_WAS };
static const struct site_before time_before = {
	"count(*), sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 ELSE "
	"j.held_core_s END), sum(j.lost_core_s)",
	"CAST(sum(s.jobs) AS BIGINT), sum(s.held_core_s), sum(s.profiled_core_s), "
	"sum(s.lost_core_s)",
	N_WAS};

static void print_sorts(FILE *out)
{
	for (size_t i = 0; i < N_SUMS; i++)
		fprintf(out, "%s ", columns[i].key);
}

static const struct opt opts[] = {
	OPT_BY,
	{0, "io", NULL,
	 "the I/O of all these jobs, as distributions; of jobs of an hour and more, but for --ran",
	 OPT_FLAG(struct site_groups_options, io)},
	OPTS_FILTER(struct site_groups_options),
	{0, "sort", "COLUMN", "by this column, the largest first (default lost_core_s)",
	 OPT_TEXT(struct site_groups_options, sort), .values = print_sorts},
	OPTS_DATABASE(struct site_groups_options),
	OPTS_FORM(struct site_groups_options),
	{0},
};

const struct command cmd_usage = {
	.name = "jobprof usage",
	.usage = "[--by WORD] [OPTION]...",
	.about = "What projects, users or programs held, and what of that was lost; without\n"
		 "options of the last 30 days. The last line says how to look into the first row.",
	.opts = opts,
};

static double number(const struct db_value *v, unsigned i)
{
	return db_value__number(&v[i]);
}

/* Which part of the jobs has a profile may have changed, and says nothing of what they lose. */
static void compare(struct db_value *v, const struct db_value *before)
{
	v[JOBS_BEFORE] = db_value__int((int64_t)number(before, WAS_JOBS));
	v[HELD_BEFORE] = before[WAS_HELD];
	v[PROFILED_BEFORE] = before[WAS_PROFILED];
	v[LOST_BEFORE] = before[WAS_LOST];
	v[TREND] = db_value__real(number(v, LOST) / number(v, PROFILED_S) -
				  number(before, WAS_LOST) / number(before, WAS_PROFILED));
}

static void derive(struct db_value *v, const struct db_value *all, const struct db_value *before,
		   const struct site_args *a)
{
	const double kwh = number(v, ENERGY) / 3.6e6;

	if (before && number(before, WAS_JOBS) > 0)
		compare(v, before);
	/* CPU time is of profiles alone. */
	v[CPU_SHARE] = db_value__real(number(v, CPU) / number(v, PROFILED_S));
	v[LOST_SHARE] = db_value__real(number(v, LOST) / number(v, HELD));
	v[OF_ALL] = db_value__real(number(v, LOST) / number(all, LOST));
	v[WITHOUT] = db_value__real(1 - number(v, PROFILED_S) / number(v, HELD));
	v[KWH] = db_value__real(kwh);
	v[MONEY_HELD] = db_value__real(site_args__money(a, number(v, HELD), number(v, HELD_GPU)));
	v[MONEY_LOST] = db_value__real(site_args__money(a, number(v, LOST), number(v, LOST_GPU)));
	v[ENERGY_MONEY] = db_value__real(a->kwh > 0 ? kwh * a->kwh : NAN);
	v[CO2] = db_value__real(a->co2_g_kwh > 0 ? kwh * a->co2_g_kwh / 1000 : NAN);
}

static void print_head(const struct db_value *all, const struct site_args *a)
{
	site_args__print_head(a, number(all, JOBS), number(all, HELD), number(all, LOST),
			      number(all, PROFILED_S));
}

int verb_usage(int argc, char **argv)
{
	struct site_column own[N_COLUMNS];
	char head[32];
	const struct site_groups g = {&cmd_usage,
				      own,
				      N_COLUMNS,
				      N_SUMS,
				      "lost_core_s",
				      sums__of_jobs,
				      sums__of_sums,
				      "",
				      derive,
				      &time_before,
				      print_head,
				      "trend: by how many points the lost share of what has a "
				      "profile is above that of\nas many days before."};
	struct site_groups_options o = {0};
	int status;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_usage, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_usage, "\"%s\": whose usage is said by options",
				      argv[optind]);
	if (o.io && (o.by || o.sort))
		return options__wrong(&cmd_usage, "--io goes without --by and --sort");
	memcpy(own, columns, sizeof(columns));
	snprintf(head, sizeof(head), "lost %s", o.site.currency);
	own[MONEY_LOST].head = head;
	return o.io ? usage_io__run(&o.site) : site_groups__run(&g, &o);
}
