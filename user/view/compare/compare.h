/* SPDX-License-Identifier: GPL-2.0-only */
/* Why one run took longer than another: the page and its JSON. */
#ifndef JP_VIEW_COMPARE_H
#define JP_VIEW_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/job/compare_job.h"
#include "view/compare/compare_tables.h"

struct compare_page {
	const struct compared_job *a, *b;
	const struct comparison *c;
	const struct compare_spread *spread; /* [N_TERMS]; NULL: there is no baseline */
	unsigned earlier;		     /* runs of the baseline */
	unsigned left_out;		     /* those that are of another kind */
	unsigned later;			     /* those that began after B, which do not count */
	const char (*why)[160];	  /* [N_TERMS]: why a term is part of another; "": not known */
	const char *const *notes; /* what a reader should know; ends with NULL */
	const struct compare_table *tables;
	unsigned ntables;
};

/* The page, 80 columns wide. */
void compare__print(const struct compare_page *p, FILE *out);
/* The first sentence of the page. Names of nodes are as in the file. */
#define COMPARE_SENTENCE 1024
void compare__sentence(const struct compare_page *p, char text[static COMPARE_SENTENCE]);
/* docs/compare-json.md has the schema. NULL: no memory. */
json_t *compare__json(const struct compare_page *p);

/* What is said of a term. */
struct compare_words {
	const char *id;		 /* in JSON */
	const char *name;	 /* at the left of the page */
	const char *unit;	 /* of the quantity behind it, in JSON */
	const char *more, *less; /* where it adds to the time, and where it takes from it */
};
extern const struct compare_words compare_words[N_TERMS];
/* Those of the term work, which is the CPU time where there are no counters. */
struct compare_words compare_words__of(const struct comparison *c, enum compare_term term);

#endif
