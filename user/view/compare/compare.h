/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why one run took longer than another: the page and its JSON. */
#ifndef JP_VIEW_COMPARE_H
#define JP_VIEW_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/job/compare_job.h"
#include "jobfile/profiles.h"
#include "view/report/report_page.h"

#define COMPARE_TABLES \
	3 /* tables of two jobs' facts; there are others for what is inside the jobs */

struct compare_row {
	const char *name;
	double share[2]; /* of A and of B, 0 to 1; NaN: not known */
	double s[2];	 /* seconds of that share; NaN: it is not of time */
};

struct compare_table {
	const char *id, *name;
	char how[2][16]; /* how each was measured, "samples"; "": there is only one way */
	struct compare_row rows[REPORT_PARTS_MAX];
	unsigned n;
};

/* Makes the tables that both runs have. Returns how many. */
unsigned compare_tables__of(struct compare_table out[static COMPARE_TABLES],
			    const struct model_job *a, const struct model_job *b);
void compare_tables__print(const struct compare_table *tables, unsigned n, FILE *out);
/* An array of docs/compare-json.md. */
json_t *compare_tables__json(const struct compare_table *tables, unsigned n);

/* ---- tables that take more than facts: functions, clusters and folded regions */

#define COMPARE_BESIDES	     3
#define COMPARE_BESIDES_ROWS 10 /* of a table */

struct compare_besides {
	struct compare_table tables[COMPARE_BESIDES];
	unsigned n;
	char *names[COMPARE_BESIDES][COMPARE_BESIDES_ROWS];
};

/* A run's files, and its CPU time. */
struct compare_inside {
	const struct job_input *files;
	unsigned n;
	double cpu_s;
};

/* Makes the tables that both runs have, each in a limited child; there are none where a run is in
 * several files. 0; -errno: the error of the first table that cannot be read, which *what names;
 * the other tables are made. compare_besides__free() in all cases. */
int compare_besides__of(struct compare_besides *out, const struct compare_inside runs[2],
			const char **what);
void compare_besides__free(struct compare_besides *b);

/* ---- the page */

struct compare_page {
	const struct compared_job *a, *b;
	const struct comparison *c;
	const struct compare_spread *spread; /* [N_TERMS]; NULL: there is no baseline */
	unsigned earlier;		     /* runs of the baseline */
	unsigned left_out;		     /* runs that are of another kind */
	unsigned later;			     /* runs that began after B, which do not count */
	const char (*why)[160];	  /* [N_TERMS]: why a term is part of another; "": not known */
	const char *const *notes; /* what a reader should know; ends with NULL */
	const struct compare_table *tables;
	unsigned ntables;
};

/* The page, 80 columns wide. */
void compare__print(const struct compare_page *p, FILE *out);
/* docs/compare-json.md has the schema. NULL: no memory. */
json_t *compare__json(const struct compare_page *p);

#endif
