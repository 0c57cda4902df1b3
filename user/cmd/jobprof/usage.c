/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof usage: what users, projects and programs held, and what of that they lost. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobprof/site_groups.h"
#include "cmd/jobprof/usage_hist.h"
#include "cmd/jobprof/usage_io.h"
#include "cmd/jobprof/verbs.h"
#include "index/sums.h"

/* The group's name, then the columns of sums__columns, then those that derive() computes. */
static const struct site_column columns[] = {
	{"key", "", NULL, CELL_TEXT, 0, 24},
	{"jobs", "jobs", NULL, CELL_COUNT, 0, 0},
	{"profiled", "profiled", NULL, CELL_COUNT, SITE_HIDDEN, 0},
	{"held_core_s", "held core-h", NULL, CELL_HOURS, 0, 0},
	{"held_cpu_s", "held CPU-h", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"held_gpu_s", "held GPU-h", NULL, CELL_HOURS, 9, 0},
	{"profiled_core_s", "profiled core-h", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"lost_core_s", "lost core-h", NULL, CELL_HOURS, 0, 0},
	{"lost_gpu_s", "lost GPU-h", NULL, CELL_HOURS, 10, 0},
	{"cpu_s", "CPU time h", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"energy_j", "energy J", NULL, CELL_NUMBER, SITE_HIDDEN, 0},
	{"energy_low_j", "energy J, least", NULL, CELL_NUMBER, SITE_HIDDEN, 0},
	{"energy_high_j", "energy J, most", NULL, CELL_NUMBER, SITE_HIDDEN, 0},
	{"findings", "findings", NULL, CELL_COUNT, 8, 0},
	{"run_s", "run time h", NULL, CELL_HOURS, 11, 0},
	{"footprints", "footprints", NULL, CELL_COUNT, 14, 0},
	{"max_nodes", "most nodes", NULL, CELL_COUNT, 12, 0},
	{"max_cores", "most cores", NULL, CELL_COUNT, 13, 0},
	{"max_pending_s", "longest pending", NULL, CELL_DURATION, 15, 0},
	{"failed", "failed", NULL, CELL_COUNT, 8, 0},
	{"read_bytes", "read", NULL, CELL_BYTES, 16, 0},
	{"write_bytes", "written", NULL, CELL_BYTES, 16, 0},
	{"cpu_share", "CPU%", NULL, CELL_SHARE, 6, 0},
	{"lost_share", "lost%", NULL, CELL_SHARE, 2, 0},
	{"trend", "trend", NULL, CELL_POINTS, 4, 0},
	{"of_all_lost", "of all lost%", NULL, CELL_SHARE, 7, 0},
	{"without_profile", "no profile%", NULL, CELL_SHARE, 6, 0},
	{"jobs_before", "jobs before", NULL, CELL_COUNT, SITE_HIDDEN, 0},
	{"held_core_s_before", "held before", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"profiled_core_s_before", "profiled before", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"lost_core_s_before", "lost before", NULL, CELL_HOURS, SITE_HIDDEN, 0},
	{"energy_kwh", "kWh", NULL, CELL_NUMBER, 3, 0},
	{"money_held", "held", NULL, CELL_NUMBER, 1, 0},
	{"money_lost", "lost", NULL, CELL_NUMBER, 1, 0},
	{"energy_money", "energy", NULL, CELL_NUMBER, SITE_HIDDEN, 0},
	{"co2_kg", "kg CO2", NULL, CELL_NUMBER, 9, 0},
	{"finding_core_s", "finding core-h", NULL, CELL_HOURS, 1, 22},
	{"lost_share_points", "", NULL, CELL_SERIES, SITE_HIDDEN, 0},
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
	FAILED = 19,
	N_SUMS = 22,
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
	CO2,
	FINDING,
	POINTS,
	N_MORE = 2 /* columns of `more`, with the rows' names */
};

enum { WAS_JOBS = 1, WAS_HELD, WAS_PROFILED, WAS_LOST, N_WAS };
static const struct site_part time_before = {
	"count(*), sum(j.held_core_s), sum(CASE WHEN j.findings IS NULL THEN 0.0 ELSE "
	"j.held_core_s END), sum(j.lost_core_s)",
	"CAST(sum(s.jobs) AS BIGINT), sum(s.held_core_s), sum(s.profiled_core_s), "
	"sum(s.lost_core_s)",
	NULL, N_WAS};

/* Each node of a job has an equal part of what a finding cost the job. */
static void add_cost(struct query *q, const struct job_filter *f, bool is_node)
{
	query__add(q, "sum(");
	query__add_cost(q, f);
	query__add(q, is_node ? " / " SITE_PARTS("j.node") ")" : ")");
}

/* The cost of a finding, which the tables of sums do not have. */
static const struct site_part more = {"", NULL, add_cost, N_MORE};

static const struct site_note notes[] = {
	{"trend", "trend: by how many points the lost share of what has a profile is above that "
		  "of as many days before"},
	{"failed", "failed: jobs whose state is failed, node_fail, boot_fail or out_of_memory"},
};

static void print_sorts(FILE *out)
{
	site_filter__print_sorts(out, columns + 1, N_COLUMNS - 1);
}

static const struct opt opts[] = {
	OPT_BY,
	{0, "io", NULL,
	 "the I/O of all these jobs, as distributions; of jobs of an hour and more, but for --ran",
	 OPT_FLAG(struct site_groups_options, io)},
	{0, "histograms", NULL,
	 "how much of CPUs, memory and time limits was used: core time and jobs by 5 percent",
	 OPT_FLAG(struct site_groups_options, histograms)},
	OPTS_FILTER(struct site_groups_options),
	OPT_SORT(struct site_groups_options, SITE_BY_LOSS),
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

/* The trend is of profiled core-seconds: the part that has a profile may have changed. */
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
	/* only profiles have CPU time */
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

static void print_head(const struct db_value *all, const struct site_args *a, double unused)
{
	(void)unused;
	site_args__print_head(a, number(all, JOBS), number(all, HELD), number(all, LOST),
			      number(all, PROFILED_S), number(all, FINDING));
}

/* Sets the heads that name the site's currency and the finding that was asked for. */
static void set_heads(struct site_column *own, char heads[3][32],
		      const struct site_groups_options *o)
{
	const struct site_args *a = &o->site;

	memcpy(own, columns, sizeof(columns));
	snprintf(heads[0], sizeof(heads[0]), "held %s", a->currency);
	snprintf(heads[1], sizeof(heads[1]), "lost %s", a->currency);
	snprintf(heads[2], sizeof(heads[2]), "energy %s", a->currency);
	own[MONEY_HELD].head = heads[0];
	own[MONEY_LOST].head = heads[1];
	own[ENERGY_MONEY].head = heads[2];
	if (job_filter__has_rule(&a->filter))
		own[FINDING].head = a->filter.finding;
	if (o->by && o->by->is_node)
		own[FAILED].rank = 2; /* failures are what a table of nodes is read for */
}

/* 0, or 2 and it has said what is wrong. */
static int check(const struct site_groups_options *o, const char *word)
{
	if (word)
		return options__wrong(&cmd_usage, "\"%s\": jobs are selected by options", word);
	if (!o->io || (!o->by && !o->sort && !o->histograms))
		return 0;
	return options__wrong(&cmd_usage,
			      "--io takes neither --by nor --sort nor --histograms; without --io, "
			      "--sort read_bytes shows who reads most");
}

int verb_usage(int argc, char **argv)
{
	struct site_column own[N_COLUMNS];
	char heads[3][32];
	struct site_groups g = {.command = &cmd_usage,
				.columns = own,
				.ncolumns = N_COLUMNS,
				.nasked = N_SUMS,
				.sort = "lost_core_s",
				.of_jobs = sums__of_jobs,
				.of_sums = sums__of_sums,
				.and = "",
				.more = &more,
				.more_at = FINDING,
				.points_at = POINTS,
				.derive = derive,
				.before = &time_before,
				.head = print_head,
				.notes = notes,
				.nnotes = sizeof(notes) / sizeof(*notes)};
	struct site_groups_options o = {0};
	int status;

	site_args__init(&o.site, "30d");
	status = options__read(&cmd_usage, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = check(&o, optind < argc ? argv[optind] : NULL);
	if (status)
		return status;
	set_heads(own, heads, &o);
	if (job_filter__has_rule(&o.site.filter))
		g.sort = own[FINDING].key;
	else if (o.site.filter.finding && !strcmp(o.site.filter.finding, "unknown"))
		g.sort = own[HELD].key; /* nobody knows what was lost */
	o.site.asks_sums = !o.io && site_groups__is_coarse(&o);
	if (o.histograms)
		return usage_hist__run(&o.site);
	return o.io ? usage_io__run(&o.site) : site_groups__run(&g, &o);
}
