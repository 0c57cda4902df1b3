/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that all verbs on the index share: which index, which viewer, which jobs, and which
 * form. Options are rows for a struct `type` whose member `site` is a struct site_args.
 */
#ifndef JP_CMD_JOBPROF_SITE_ARGS_H
#define JP_CMD_JOBPROF_SITE_ARGS_H

#include <errno.h>
#include <jansson.h>

#include "base/options.h"
#include "index/alike.h"
#include "index/query.h"
#include "index/scan.h"
#include "view/site/site_table.h"

struct site_args {
	struct job_filter filter; /* site_args__init() */
	/* as they were given on the command line; NULL: not given */
	const char *since_word, *until_word, *ran_at_word, *range_word[N_RANGES];
	bool is_since_given;
	const char *database, *dir;
	/* of jobprof.conf; prices are per hour, kwh of energy in kWh; "" and 0: not set */
	char configured[512];
	const char *cluster; /* NULL: not set */
	double core_h, gpu_h, kwh, co2_g_kwh;
	char currency[16];
	bool admin_comment;
	double retention_days, quota_mib; /* of jobprof.conf, too; 0: not set */
	bool json, csv, all;
	bool looks;	/* also at running jobs, where the user's own index is brought up to date */
	bool is_aside;	/* no jobs are printed: nobody is logged */
	bool asks_sums; /* only sums by project, user or name are printed */
	bool as_it_is;	/* the user's own index is not brought up to date, and may be absent */
};

int site_args__take_since(void *to, const struct opt *o, const char *arg);
int site_args__take_until(void *to, const struct opt *o, const char *arg);
int site_args__take_ran_at(void *to, const struct opt *o, const char *arg);
int site_args__take_range(void *to, const struct opt *o, const char *arg);
/* Reads "4096", "500MB", "1GiB" and, of a rate, "1GiB/s". 0 or -EINVAL. */
int site_args__parse_bytes(const char *text, double *bytes);
int site_args__take_jobs(void *to, const struct opt *o, const char *arg);
void site_args__print_states(FILE *out);

#define OPTS_DATABASE(type)                                                               \
	{0, "database", "PATH|URL",                                                       \
	 "the index there, SQLite's file or postgresql://...; default: IndexDatabase of " \
	 "jobprof.conf, where it can be read, else the user's own",                       \
	 OPT_TEXT(type, site.database)},                                                  \
	{                                                                                 \
		'p', "profiledir", "DIR",                                                 \
			"the user's own index: profiles there, and in the directories "   \
			"in it, come to those that it has",                               \
			OPT_TEXT(type, site.dir)                                          \
	}

/* Options that select jobs. */
#define OPTS_FILTER(type)                                                                          \
	{'S', "since", "TIME", "that began then or later: 24h, 7d, 4w, 6m, 1y, 2026-11-01, all",   \
	 OPT_CALL_AT(site_args__take_since, type, site)},                                          \
		{'E', "until", "TIME", "that began before then",                                   \
		 OPT_CALL_AT(site_args__take_until, type, site)},                                  \
		{'u', "user", "LIST", "of these users; @me: your own",                             \
		 OPT_TEXT(type, site.filter.user)},                                                \
		{'A', "project", "LIST", "of these projects, which are Slurm's accounts",          \
		 OPT_TEXT(type, site.filter.account)},                                             \
		{'n', "name", "TEXT",                                                              \
		 "with this in their name, as it is written; =TEXT: of this name",                 \
		 OPT_TEXT(type, site.filter.name)},                                                \
		{0, "program", "TEXT", "whose program has this in its path; =TEXT: is this",       \
		 OPT_TEXT(type, site.filter.program)},                                             \
		{'s',                                                                              \
		 "state",                                                                          \
		 "LIST",                                                                           \
		 "that ended so: completed, failed, timeout, ...",                                 \
		 OPT_TEXT(type, site.filter.state),                                                \
		 .values = site_args__print_states},                                               \
		{'r', "partition", "LIST", "of these partitions",                                  \
		 OPT_TEXT(type, site.filter.partition)},                                           \
		{'M', "cluster", "LIST", "of these clusters",                                      \
		 OPT_TEXT(type, site.filter.cluster)},                                             \
		{0, "ran-at", "TIME", "that ran at this time, begun in the 30 days before or -S",  \
		 OPT_CALL_AT(site_args__take_ran_at, type, site)},                                 \
		{'j', "jobs", "LIST",                                                              \
		 "these jobs and arrays: 7, 7_2, 7+1; of all times but for -S",                    \
		 OPT_CALL_AT(site_args__take_jobs, type, site)},                                   \
		{'N', "nodes", "RANGE", "with so many nodes: 4, 4-16, 8-",                         \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "ran", "RANGE", "that ran so long: 1h-, 10m-2h, 30s",                          \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "cpu-share", "RANGE", "that used so many % of their cores: 0-10, 90-",         \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "memory-share", "RANGE", "so many % of the memory they asked for",             \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "limit-share", "RANGE", "so many % of their time limit",                       \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "read", "RANGE", "that read so much: 1GiB-2GiB, 500MB-",                       \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "written", "RANGE", "that wrote so much",                                      \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "read-rate", "RANGE", "whose highest bandwidth of reads was so much a second", \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{0, "write-rate", "RANGE", "the same of writes",                                   \
		 OPT_CALL_AT(site_args__take_range, type, site)},                                  \
		{'w', "node", "LIST", "that were on one of these nodes: n1,n[4-7]",                \
		 OPT_TEXT(type, site.filter.node)},                                                \
		{0, "finding", "RULE", "with this finding; any, none, unknown (no profile)",       \
		 OPT_TEXT(type, site.filter.finding)},                                             \
		{0, "tag", "TAG", "with this tag of PIKA", OPT_TEXT(type, site.filter.tag)},       \
	{                                                                                          \
		0, "signature", "LIST", "of this user, program, size and name but for digits",     \
			OPT_TEXT(type, site.filter.signature)                                      \
	}

#define OPTS_FORM(type)                                                           \
	{0, "json", NULL, "as JSON", OPT_FLAG(type, site.json), .group = 1},      \
		{0, "csv", NULL, "as CSV", OPT_FLAG(type, site.csv), .group = 1}, \
	{                                                                         \
		'a', "all", NULL, "all rows", OPT_FLAG(type, site.all)            \
	}

/* Columns of jobs are sorted by it without --sort. */
#define SITE_BY_LOSS "lost_core_s, with --finding RULE finding_core_s, of unknown held_core_s"
/* print_sorts(): calls site_filter__print_sorts(); by: the default. */
#define OPT_SORT(type, by)                                                          \
	{                                                                           \
		0, "sort", "COLUMN",                                                \
			"by this column, the largest first; -COLUMN: the smallest " \
			"(default " by ")",                                         \
			OPT_TEXT(type, sort), .values = print_sorts                 \
	}

/* since: the default of --since, as "7d". */
void site_args__init(struct site_args *a, const char *since);
/* Opens the index to read; the user's own is made and brought up to date, unless as_it_is. 0, or
 * the exit status; -ENOENT: it may be absent, and is. *v is the viewer (site_viewer.h), who is
 * logged where jobs of others may be seen. */
int site_args__open(const struct site_args *a, struct index *ix, struct viewer *v);

/* Whether the filter and the form make sense: 0, or 2, logged. */
int site_filter__check(const struct site_args *a);
/* Whether the finding of the filter is a rule, or one that a job has which the viewer may see: 0,
 * or 2, logged. */
int site_filter__check_finding(const struct site_args *a, struct index *ix, const struct viewer *v);
/* Where no job matches: logs which users, projects, partitions, clusters, nodes, jobs and
 * signatures of the filter have no job in the index at all, as far as the viewer may know. */
void site_filter__hint(const struct site_args *a, struct index *ix, const struct viewer *v);
/* Prints a line with the share of what jobs held that has no profile, and that nobody knows `what`
 * of these; nothing if the share is 0 or NaN. */
void site_filter__print_unknown(double share, const char *what);

/* The exit status of a query's error: 2 where the filter was wrong. */
static inline int site_args__status(int err)
{
	return err == -EINVAL ? 2 : err ? 1 : 0;
}

/* The column that --sort names, behind a "-" or without. NULL: there is none, logged. */
const struct site_column *site_filter__sort(const char *word, const struct site_column *columns,
					    unsigned n);

/* Prints the words of --sort. */
void site_filter__print_sorts(FILE *out, const struct site_column *columns, size_t n);

/* Logs that there is no index at that place. */
void site_args__say_none(const char *where);

/* Where the index is; the caller frees it. NULL: no memory, or there is no place, logged.
 * *is_own: it is the user's. */
char *site_args__where(const struct site_args *a, bool *is_own);

/* For verbs that use the index if there is one: where it is absent or cannot be read, nothing is
 * known and nothing is logged. */
/* The profiles of the last jobs with the signature of the job in this file, without this one, at
 * most `most`. 0 or -ENOMEM. */
int site_args__alike(struct string_list *files, uint32_t job, const char *path, unsigned most);
/* Compares the job with others (index/alike.h). alike__free(out) ends it. */
void site_args__compare(struct alike *out, uint32_t job, const char *path);

/* Makes the directories on the way to a file, for their user alone. 0 or -errno,
 * logged. */
int site_args__make_way(const char *path);

/* A scan's function that judges profiles, in limited children. */
int site_read__jobs(const struct scan_job *jobs, unsigned n, scan_take *take, void *arg);

/* Price of core-seconds and GPU-seconds at the site's prices per hour; one of the two may be
 * unknown or without a price. NaN: both are. */
double site_args__money(const struct site_args *a, double core_s, double gpu_s);

/* Whether a text can be the only word of a list option: not empty, no comma, and all visible. */
bool site_args__is_word(const char *text);
/* Prints a text, quoted for a shell where needed. */
void site_args__print_word(FILE *out, const char *text);

/* Prints the options that select jobs and index, as " --user u1 --since 7d", in the words that were
 * given; `but`: the name of one that is left out. */
void site_args__print_options(const struct site_args *a, const char *but);
/* The options that say which jobs, but for -S and -E, as they were given: {"user": "u1"}. NULL: no
 * memory. */
json_t *site_args__filter(const struct site_args *a);
/* Prints the times of the filter: " since 7d until 2026-11-01". */
void site_args__print_times(FILE *out, const struct site_args *a);
/* Prints a line about all jobs of a table, and for which share of them the loss is known; rule_s:
 * the cost of the finding that is asked for, or NaN. */
void site_args__print_head(const struct site_args *a, double jobs, double held_s, double lost_s,
			   double profiled_s, double rule_s);

/* Prints the table in the form asked for; takes `about`, the other members of the JSON. 0, or the
 * exit status. */
int site_args__print(const struct site_args *a, const struct site_table *t, json_t *about);
/* From now on this process prints JSON's rows by column (site_table.h), for a page's script. */
void site_args__print_by_column(void);

#endif
