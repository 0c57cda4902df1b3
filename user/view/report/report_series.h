/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the page in a browser draws, beside the report's JSON: the units of a job over time, thinned
 * so that the page of any job stays small. docs/report-json.md, "In the page", has the schema.
 */
#ifndef JP_VIEW_REPORT_SERIES_H
#define JP_VIEW_REPORT_SERIES_H

#include "analysis/job/job_matrix.h"
#include "view/report/report.h"

enum series_unit { SERIES_TASKS, SERIES_NODES, SERIES_GPUS, SERIES_UNITS };
extern const char *const series_unit_names[SERIES_UNITS]; /* "task" */

/* All of the object. NULL: no memory. */
json_t *report_series__json(const struct report *r);

/* The units of a kind; tasks are those of the main step, and none where there is only one on one of
 * several nodes. */
struct job_units report_series__units(const struct model_job *j, enum series_unit kind);
/* An object's value: the array as base64 of little-endian floats, or of bytes. */
json_t *report_series__floats(const float *v, size_t n);
json_t *report_series__bytes(const unsigned char *v, size_t n);
/* With four digits, which are enough for drawing; null where it is not known. */
json_t *report_series__rounded(double v);

#endif
