/* SPDX-License-Identifier: GPL-2.0-only */
/* PIKA's analyses and those of I/O in the JSON of a report, of which the job file stores a copy. */
#ifndef JP_VIEW_REPORT_PIKA_H
#define JP_VIEW_REPORT_PIKA_H

#include <jansson.h>

#include "analysis/job/io_job.h"
#include "analysis/job/pika_job.h"

/* NULL: no memory. */
json_t *report_pika__json(const struct pika_job *p);
json_t *report_io__json(const struct io_jobs *io);
/* "status" and "reason" of an object; the reason is null where it is OK. */
void report_pika__put_verdict(json_t *o, struct analysis_verdict v);

/* "params", the thresholds of the analysis, and "n_used" and "n_missing", how many values there
 * were. */
void report_pika__put_basis(json_t *o, const struct analysis_param *params, double used,
			    double missing);

/* A number of an object, by name. */
struct named_number {
	const char *name;
	double value;
};
#define NAMED_NUMBERS(o, ...)                                                   \
	report_pika__put_numbers(o, (struct named_number[]){__VA_ARGS__},       \
				 sizeof((struct named_number[]){__VA_ARGS__}) / \
					 sizeof(struct named_number))
void report_pika__put_numbers(json_t *o, const struct named_number *v, size_t n);

#endif
