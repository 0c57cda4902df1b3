/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with a row per user, project or the like, and their sum, as usage and issues print it. */
#ifndef JP_CMD_JOBPROF_SITE_GROUPS_H
#define JP_CMD_JOBPROF_SITE_GROUPS_H

#include <string.h>

#include "cmd/jobprof/site_args.h"

/* What the jobs of a row share. `next`: the group that splits such a row further, or NULL. */
struct site_group {
	const char *word, *column, *next;
	bool in_sums;
	bool is_text; /* its filter option matches parts of names, whole ones behind "=" */
	bool is_node; /* a job counts in the row of each of its nodes, with an equal part; nodes
			 of one name in two clusters have two rows */
	bool is_day;  /* of the index's time zone; rows are in the order of days */
};

struct site_groups_options {
	struct site_args site;
	const char *sort;
	const struct site_group *by;
	bool io, histograms; /* of usage */
};

int site_groups__take_by(void *to, const struct opt *o, const char *word);
/* Whether the rows are sums by project, user, name, partition or cluster. */
bool site_groups__is_coarse(const struct site_groups_options *o);
void site_groups__print_words(FILE *out);
#define OPT_BY                                                                              \
	{                                                                                   \
		0, "by", "WORD",                                                            \
			"a row per project (the default), user, name, program, partition, " \
			"cluster, state, node, signature or day",                           \
			OPT_CALL(site_groups__take_by), .values = site_groups__print_words  \
	}

/* SQL: of how many nodes a row of j has a part, which is in a node; where none is known, in one. */
#define SITE_PARTS(node) \
	"(CASE WHEN " node " IS NULL THEN 1 ELSE COALESCE(NULLIF(j.nodes, 0), 1) END)"

/* A further question of a verb: a few columns that add up, after the rows' names. */
struct site_part {
	const char *of_jobs, *of_sums; /* as in struct site_groups */
	/* Adds further columns to of_jobs, for jobs or for their parts in nodes; or NULL. */
	void (*add)(struct query *q, const struct job_filter *f, bool is_node);
	unsigned nasked;
};

/* A line below the table that explains a column, printed where the column is shown; key NULL:
 * always. */
struct site_note {
	const char *key, *text;
};

/* The table of a verb. */
struct site_groups {
	const struct command *command;
	const struct site_column *columns; /* names of rows, nasked - 1 from SQL, then derived */
	unsigned ncolumns, nasked;
	const char *sort;	       /* by which they are sorted */
	const char *of_jobs, *of_sums; /* SQL of the columns that are asked for; of_sums NULL: only
					  rows of jobs have them */
	const char *and;	       /* a further condition on jobs; "": none */
	/* The condition `and` without its demand for a profile: the head prints which part of what
	 * these jobs held has no profile. NULL: that part is among the columns. */
	const char *and_unknown;
	const struct site_part *more; /* asked for with --finding RULE; NULL: nothing is */
	unsigned more_at;	      /* its first column */
	unsigned points_at; /* the column of the lost share over time, of JSON and CSV; 0: none */
	/* Fills columns[nasked] and the following ones, without those of `more`; all: the sum of
	 * all rows; before: the row of the time before, NULL: there is no such time, or it had no
	 * such row. */
	void (*derive)(struct db_value *v, const struct db_value *all,
		       const struct db_value *before, const struct site_args *a);
	const struct site_part *before; /* queried of the time before; NULL: nothing is */
	/* Prints the text above the table. without_profile: see and_unknown; NaN: unknown. */
	void (*head)(const struct db_value *all, const struct site_args *a, double without_profile);
	const struct site_note *notes;
	unsigned nnotes;
	/* Sets the options of jobprof jobs that select the same jobs as `and`; but: what they
	 * cannot select. NULL: `and` is empty. */
	void (*narrow)(struct site_args *a);
	const char *but;
};

/* The cluster behind the name of a node. */
static inline const char *site_group__cluster(const struct db_value *key)
{
	const char *tab = key->type == DB_TEXT ? strchr(key->text, '\t') : NULL;

	return tab ? tab + 1 : "";
}

/* Prints the rows, and their sum as the last one, in the form that was asked for; all: how many
 * rows there are. t has these columns, with room for another one. Returns the exit status. */
int site_groups__print(const struct site_groups *g, const struct site_groups_options *o,
		       struct site_table *t, struct site_column *columns, double all,
		       double without_profile);

/* Runs the verb with its options. Returns the exit status. */
int site_groups__run(const struct site_groups *g, struct site_groups_options *o);

#endif
