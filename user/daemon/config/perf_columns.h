/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of the family perf, which PerfEvents= or --events asks for, as columns. */
#ifndef JP_DAEMON_CONFIG_PERF_COLUMNS_H
#define JP_DAEMON_CONFIG_PERF_COLUMNS_H

#include <stddef.h>

#include "kern/kern.h"
#include "schema/series.h"

struct perf_columns {
	struct perf_event ev[JP_PMU_EVENTS];
	struct column cols[JP_PMU_EVENTS]; /* their names and texts are in this struct */
	char docs[JP_PMU_EVENTS][160];
	unsigned n;
	unsigned nwords;    /* words, such as @cpi, that became events */
	char left_out[256]; /* the words that did not, and why; "": none */
};

/* Reads the list as perf_event__parse() does for this machine. Returns how many events; also
 * -EINVAL where a column has the name of another column of Tasks or Step. e may be NULL where only
 * the result is of interest. */
int perf_columns__parse(struct perf_columns *e, const char *list, char *err, size_t errlen);

#endif
