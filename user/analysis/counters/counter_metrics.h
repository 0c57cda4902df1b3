/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes derived metrics, and the stack of cycles per instruction, from the columns of events. */
#ifndef JP_ANALYSIS_COUNTER_METRICS_H
#define JP_ANALYSIS_COUNTER_METRICS_H

#include "analysis/counters/counters.h"

/* What was counted over some run time; NaN: not counted. */
struct counter_totals {
	const char *const *
		events; /* names of columns: perf's events, and those of the sets PerfEvents=@... */
	const double *totals;
	unsigned n;
	double run_s;
	const char *kind; /* attribute "CPI Kind"; NULL: not known */
	double width;	  /* slots per cycle; NaN: not known */
};

struct counter_metric {
	const char *name, *doc;
	double value;
};

#define COUNTER_METRICS 16

struct counter_metrics {
	struct counter_metric v[COUNTER_METRICS]; /* those that are known */
	struct cpi_stack stack;
	double flops_any; /* operations, two for each in double precision */
	unsigned n;
	enum analysis_status status; /* of the stack; UNAVAILABLE: its events are not there */
};

extern const char *const cpi_kind_names[N_CPI_KINDS], *const cpi_part_names[N_CPI_PARTS];

void counter_metrics__of(const struct counter_totals *t, struct counter_metrics *m);

#endif
