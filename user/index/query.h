/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which jobs a question is about, and which of them its reader may see. No other file turns that
 * into SQL.
 */
#ifndef JP_INDEX_QUERY_H
#define JP_INDEX_QUERY_H

#include <stdio.h>

#include "base/string_list.h"
#include "index/index.h"

/* Who asks. */
struct viewer {
	bool sees_all; /* staff, or the index is the viewer's own */
	bool is_own;   /* the latter */
	/* Whoever asks sees the jobs of this account alone; NULL: of the user. */
	const char *account;
	bool coordinates; /* the accounts that coordinators.h has of the user are seen, too */
	const char *user;
};

/* Numbers of a job that a filter bounds, from `least` to `most`. Both are included; but shares,
 * bytes and rates end below `most` if that is above `least`, so that ranges which follow each other
 * have no job in common. A range of shares to 1 or more has its end. */
enum filter_range {
	RANGE_NODES,
	RANGE_RAN,
	RANGE_CPU,
	RANGE_MEMORY,
	RANGE_LIMIT,
	RANGE_READ,
	RANGE_WRITTEN,
	RANGE_READ_RATE,
	RANGE_WRITE_RATE,
	N_RANGES
};

/* NULL and NaN select all. Lists are separated by commas. */
struct job_filter {
	const char *cluster, *user, *account, *partition, *state; /* lists; user "@me": who asks */
	const char *name, *program; /* a part of it; "=NAME" all of it */
	const char *signature;
	const char *node;    /* a host list, "n[1-3],n7" */
	const char *finding; /* a rule; "any", "none", "unknown" */
	const char *tag;     /* of PIKA, as "memory-bound" */
	const char *jobs;    /* 7, 7_2, 7+1 or a SLUID; an array's number selects all its tasks */
	double since, until; /* of the begin: since <= begin < until */
	double ran_at;	     /* the job ran at that time */
	struct {
		double least, most; /* a share is 0 to 1 */
	} range[N_RANGES];
};

void job_filter__init(struct job_filter *f);
/* Whether the filter is about the findings of one rule. */
bool job_filter__has_rule(const struct job_filter *f);
/* Whether the filter is about more than a time, clusters, users, accounts and partitions. */
bool job_filter__is_of_rows(const struct job_filter *f);
/* Returns Slurm's name of a state, which the word may abbreviate as squeue does ("TO"), in small
 * letters too; NULL: there is none. len: of the word. *nearest: without a state, a name that is
 * like the word, or NULL. */
const char *job_filter__state(const char *word, size_t len, const char **nearest);

#define QUERY_ARGS 512

/* A statement that is being written; query__init() begins it. */
struct query {
	FILE *out;
	char *sql;
	size_t len;
	struct db_value args[QUERY_ARGS];
	unsigned nargs;
	int err;       /* what has failed so far; -E2BIG: it has too many arguments */
	bool in_order; /* the database is to use no index of begins or days: another one, or none */
	bool of_nodes; /* rows are of the table job_node, too, which the statement calls n */
	struct string_list texts; /* which arguments point to */
};

/* 0 or -ENOMEM; query__free() in both cases. */
int query__init(struct query *q);
void query__free(struct query *q);
void query__add(struct query *q, const char *sql);
void query__arg(struct query *q, struct db_value v);
/* Adds a condition that begins with " AND column": that contains the text. */
void query__add_like(struct query *q, const char *sql, const char *text);
/* Adds " WHERE ..." for the table job, which the statement calls j. 0; -EINVAL: the filter makes no
 * sense, logged. */
int query__where(struct query *q, const struct job_filter *f, const struct viewer *v);
/* Adds " AND (...)", of a table with a user, an account and a cluster, what the viewer may see. */
void query__add_rights(struct query *q, const char *user, const char *account, const char *cluster,
		       const struct viewer *v);
/* Adds what the findings of the filter's rule cost the job j, in core-s. */
void query__add_cost(struct query *q, const struct job_filter *f);
/* Returns the table of sums that gives the same answer, for FROM, valid until the next call: "day",
 * "month", or, in parentheses, rows of both without a day or month. NULL: rows of jobs must be
 * asked, as the filter is about more than sums have, or does not begin and end with a day of the
 * index, which may be of another time zone. */
const char *query__sums_for(struct index *ix, const struct job_filter *f);
/* Whether the tables that have days alone (day, day_rule, hist) give the answer, too: the filter is
 * one of sums, begins and ends with days of the index, and all sums are made. Those that lack
 * users, accounts or partitions answer no filter by them, and hist nobody who does not see all. */
bool query__is_of_days(struct index *ix, const struct job_filter *f);
/* Whether the filter begins and ends with days of the index, so that rows may be grouped by their
 * day. */
bool query__has_whole_days(struct index *ix, const struct job_filter *f);
/* Adds " WHERE ..." for that table, which the statement calls s. */
void query__where_sums(struct query *q, const char *table, const struct job_filter *f,
		       const struct viewer *v);
/* Runs the statement; db_rows__end() in any case. 0; -EINVAL: lists have too many words, logged; or
 * as db__ask(). */
int query__ask(struct query *q, struct db *d, struct db_rows *r);
/* Runs the statement unless something about it has failed, and gives each row to take() until that
 * does not return 0; ends the statement. 0, what failed, what take() returned, or as query__ask().
 */
int query__each(struct query *q, struct db *d, int (*take)(void *arg, const struct db_value *v),
		void *arg);

#endif
