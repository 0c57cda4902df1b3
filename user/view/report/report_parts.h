/* SPDX-License-Identifier: GPL-2.0-only */
/* Amounts of time or samples that are divided into parts with names: of the job and of its units.
 */
#ifndef JP_VIEW_REPORT_PARTS_H
#define JP_VIEW_REPORT_PARTS_H

#include <jansson.h>
#include <stdio.h>

#include "model/job/job.h"

#define REPORT_PARTS_MAX 17

#define REPORT_SAMPLES_LEAST 100 /* with fewer, shares are by chance */

struct report_part {
	enum quantity of;
	const char *kind, *name; /* kind NULL: the parts are of one kind */
};

struct report_parts {
	const char *rows_key; /* in page.rows of docs/report-json.md: "thread_shares" */
	const char *all_key;  /* of the whole, in the report's JSON */
	const struct report_part *parts;
	unsigned n;
	const char *first_alone; /* the first part's name where the second is not known; NULL: its
				    own */
	enum quantity whole;	 /* N_QUANTITIES: the sum of the parts */
	/* Sets the shares that are not of their quantity alone, where the whole is known; NULL:
	 * there are none. */
	void (*correct)(const double total[static N_QUANTITIES],
			double share[static REPORT_PARTS_MAX]);
};

extern const struct report_parts report_threads, report_culprits, report_modules;

/* Divides the totals of a unit. Returns the whole; NaN: it is not known, or nothing. A share that
 * is not known is NaN. */
double report_parts__divide(const struct report_parts *p, const double total[static N_QUANTITIES],
			    double share[static REPORT_PARTS_MAX]);
/* Divides the totals of the job, as report_parts__divide() divides those of a unit. */
double report_parts__of(const struct report_parts *p, const struct model_job *j,
			double share[static REPORT_PARTS_MAX]);
/* {all_key: the whole, "shares": [{"kind", "name", "share"} ...]}; without a whole there are no
 * shares. */
json_t *report_parts__json(const struct report_parts *p, const struct model_job *j);
/* A line of the parts from the first one on, as report_shares__print() has it. */
void report_parts__print(const char *name, const struct report_parts *p, unsigned first,
			 const struct model_job *j, FILE *out);

#endif
