/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with a row per user, project or the like, and their sum: what usage and issues print. */
#ifndef JP_CMD_JOBPROF_SITE_GROUPS_H
#define JP_CMD_JOBPROF_SITE_GROUPS_H

#include "cmd/jobprof/site_args.h"

/* What rows have in common; in_sums: sums have it, too. */
struct site_group {
	const char *word, *column, *next;
	bool in_sums;
};

struct site_groups_options {
	struct site_args site;
	const char *sort;
	const struct site_group *by;
	bool io; /* of usage */
};

int site_groups__take_by(void *to, const struct opt *o, const char *word);
void site_groups__print_words(FILE *out);
#define OPT_BY                                                                              \
	{                                                                                   \
		0, "by", "WORD",                                                            \
			"a row per project (the default), user, name, program, partition, " \
			"cluster, state or signature",                                      \
			OPT_CALL(site_groups__take_by), .values = site_groups__print_words  \
	}

/* What is asked of the time before: few columns, which add up, with the rows' names first. */
struct site_before {
	const char *of_jobs, *of_sums;
	unsigned nasked;
};

/* What a verb's table is. */
struct site_groups {
	const struct command *command;
	const struct site_column *columns; /* first the rows' names, then what is asked for */
	unsigned ncolumns, nasked;
	const char *sort;	       /* by which they are sorted */
	const char *of_jobs, *of_sums; /* SQL of what is asked for; of_sums NULL: of jobs alone */
	const char *and;	       /* of which jobs; "": all that match */
	/* Fills columns[nasked] and those behind; all: the sum of all rows; before: the row of the
	 * time before, NULL: there is no such time, or it had no such row. */
	void (*derive)(struct db_value *v, const struct db_value *all,
		       const struct db_value *before, const struct site_args *a);
	const struct site_before *before; /* NULL: there is nothing to compare with */
	/* Prints what is above the table as text; NULL: nothing. */
	void (*head)(const struct db_value *all, const struct site_args *a);
	const char *note; /* below it, where there is a time before that is compared; NULL: nothing
			   */
};

/* The verb. o is as the options were read. Returns the exit status. */
int site_groups__run(const struct site_groups *g, struct site_groups_options *o);

#endif
