/* SPDX-License-Identifier: GPL-2.0-only */
/* Shares of two runs, beside each other: what had the CPU, what was executed, how
 * well ranks work in parallel, functions, clusters of bursts, a folded region. */
#ifndef JP_VIEW_COMPARE_TABLES_H
#define JP_VIEW_COMPARE_TABLES_H

#include <jansson.h>
#include <stdio.h>

#include "view/report/report_parts.h"

#define COMPARE_TABLES 3 /* of two jobs; what is inside of them has others */

struct compare_row {
	const char *name;
	double share[2]; /* of A and of B, 0 to 1; NaN: not known */
	double s[2];	 /* seconds of that share; NaN: it is not of time */
};

struct compare_table {
	const char *id, *name;
	char how[2][16]; /* how each was measured, "samples"; "": there is one way */
	struct compare_row rows[REPORT_PARTS_MAX];
	unsigned n;
};

/* Those that both runs have. Returns how many. */
unsigned compare_tables__of(struct compare_table out[static COMPARE_TABLES],
			    const struct model_job *a, const struct model_job *b);
void compare_tables__print(const struct compare_table *tables, unsigned n, FILE *out);
/* An array of docs/compare-json.md. */
json_t *compare_tables__json(const struct compare_table *tables, unsigned n);

#endif
