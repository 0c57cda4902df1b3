/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which jobs a question is about, and which of them its reader may see: the one place where that
 * becomes SQL.
 */
#ifndef JP_INDEX_QUERY_H
#define JP_INDEX_QUERY_H

#include <stdio.h>

#include "base/string_list.h"
#include "index/index.h"

/* Who asks. */
struct viewer {
	bool sees_all; /* staff, or the index is the viewer's own */
	const char *user;
};

/* The numbers of a job that a filter limits: from `least` to `most`, both included. */
enum filter_range { RANGE_NODES, RANGE_RAN, RANGE_CPU, RANGE_MEMORY, RANGE_LIMIT, N_RANGES };

/* NULL and NaN: any. Lists have commas. */
struct job_filter {
	const char *cluster, *user, *account, *partition, *state; /* lists */
	const char *name, *program; /* a part of it; after "=" the whole name */
	const char *signature;
	const char *node;    /* a host list, "n[1-3],n7" */
	const char *finding; /* a rule; "any", "none", "unknown" */
	const char *tag;     /* PIKA's, "memory-bound" */
	const char *jobs;    /* 7, 7_2, 7+1 or a SLUID; the number of an array is all its tasks */
	double since, until; /* the job began at `since` or later, and before `until` */
	double ran_at;	     /* it ran at that time */
	struct {
		double least, most; /* of shares: 0 to 1 */
	} range[N_RANGES];
};

void job_filter__init(struct job_filter *f);
/* Whether it is about the findings of a rule. */
bool job_filter__has_rule(const struct job_filter *f);
/* Whether it is about more than a time, clusters, users, accounts and partitions. */
bool job_filter__is_of_rows(const struct job_filter *f);
/* Slurm's name of the state that a word of len bytes stands for; the word may be short as in squeue
 * ("TO") and in small letters. NULL: there is no such state, and *nearest is the one with the most
 * similar name, or NULL. */
const char *job_filter__state(const char *word, size_t len, const char **nearest);

#define QUERY_ARGS 512

/* A statement that is being written. Begins zeroed but for query__init(). */
struct query {
	FILE *out;
	char *sql;
	size_t len;
	struct db_value args[QUERY_ARGS];
	unsigned nargs;
	bool is_full;  /* it has more arguments than it may */
	bool in_order; /* rows are to come by an index of what they are sorted by, not of their
			  begin */
	struct string_list texts; /* of arguments */
};

/* 0 or -ENOMEM; query__free() in both cases. */
int query__init(struct query *q);
void query__free(struct query *q);
void query__add(struct query *q, const char *sql);
void query__arg(struct query *q, struct db_value v);
/* " WHERE ..." of the table job, which the statement calls j. 0; -EINVAL: the filter makes no
 * sense, which is logged. */
int query__where(struct query *q, const struct job_filter *f, const struct viewer *v);
/* For a filter that names a rule: adds what the findings of that rule cost the job j. */
void query__add_cost(struct query *q, const struct job_filter *f);
/* The table of sums that gives the same answer, as text for FROM, valid until the next call: "day",
 * "month", or rows of both in parentheses, which have no day or month. NULL: rows of jobs must be
 * read, because the filter needs more than the sums have, or does not begin and end with a day of
 * the index, whose time zone may differ. */
const char *query__sums_for(struct index *ix, const struct job_filter *f);
/* " WHERE ..." of that table, which the statement calls s. */
void query__where_sums(struct query *q, const char *table, const struct job_filter *f,
		       const struct viewer *v);
/* Asks; db_rows__end() in any case. 0; -E2BIG: a list has too many words, logged; or as db__ask().
 */
int query__ask(struct query *q, struct db *d, struct db_rows *r);

#endif
