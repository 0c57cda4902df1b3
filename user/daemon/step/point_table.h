/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of SamplePoints: those that each point has, and one per event that is counted. */
#ifndef JP_DAEMON_STEP_POINT_TABLE_H
#define JP_DAEMON_STEP_POINT_TABLE_H

#include <stdint.h>

#include "bpf/jobprof.h"
#include "client/protocol.h"

#define POINT_COLUMNS 9 /* of each point */

struct column;

struct point_table {
	struct jpc_column col[POINT_COLUMNS + JP_PMU_EVENTS];
	unsigned ncols;
	unsigned event[JP_PMU_EVENTS]; /* of the columns behind POINT_COLUMNS */
};

/* events: columns of the n events that are counted. One that has the name of a column of each point
 * is left out. */
void point_table__init(struct point_table *t, const struct column *events, unsigned n);
/* The cells of the point's row, of that task (below 0: not known). */
void point_table__row(const struct point_table *t, const struct jp_point *p, int task,
		      uint64_t *cells);

#endif
