/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the time that a user asked for: two instants, and the rows between them. */
#ifndef JP_JOBFILE_EXTRACT_TIME_H
#define JP_JOBFILE_EXTRACT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "hdf5/cursor.h"

struct time_bound {
	bool set;
	bool epoch; /* unix time, else since the step's start */
	bool whole; /* no fraction was given: the whole second counts */
	int64_t ns;
};

/* "90", "1.5": seconds since the step's start; "@1795226477.25": unix time; "2026-11-21T02:01:17"
 * (":17" may be missing, a blank do for the T) and "11/21/26-02:01:17", as Slurm takes it ("/26"
 * may be missing for this year): local time; with a Z behind it, UTC. 0 or -EINVAL. */
int time_bound__parse(struct time_bound *b, const char *text);

struct time_filter {
	struct time_bound from, to;
	bool on;
	int elapsed, epoch, ns; /* positions of columns, -1: none */
	bool started;		/* start_ns is known */
	int64_t start_ns;
};

/* Prepares the filter for the rows of the cursor's table. 0; -ENODATA: the table has no
 * column of times. */
int time_filter__table(struct time_filter *f, const struct cursor *c, const struct reader_node *n);
/* Whether the row is between the bounds or at one of them. TimeNS is preferred to whole seconds. */
bool time_filter__row(const struct time_filter *f, const union cell *row);

#endif
