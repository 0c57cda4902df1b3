/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of the node's tables in the journals of steps. */
#ifndef JP_DAEMON_NODE_SENSOR_ROWS_H
#define JP_DAEMON_NODE_SENSOR_ROWS_H

#include "daemon/step/step.h"

/* Journals rows of the tables of this kind, and declares tables that the journal does not know.
 * Returns the number of rows. Where the step does not have the node for itself there are only its
 * own part of the energy, and the GPUs that its job alone uses. */
unsigned sensor_rows__put(struct step *s, const struct step_env *env, int kind, uint64_t now_ns);
void sensor_rows__end_frame(struct step_sensors *ss, enum frame_end end); /* NULL is fine */
/* Journals attributes on how the step's energy was measured and split. */
void sensor_rows__put_attrs(struct step *s);

/* The last row of a table. */
struct sensor_row {
	const char *series, *name; /* name "": the series is one table */
	unsigned ncols;
	const struct column *cols[MAX_COLUMNS];
	const union cell *cells;
};
/* Finds the last row of table *i, from 0, or of the next table that has one; false: there is no
 * more. */
bool sensor_rows__last(const struct step_sensors *ss, unsigned *i, struct sensor_row *row);

/* After a restart: numbers that are in the journal and are not used again. */
struct sensor_ids {
	unsigned next_series, next_table;
};
/* Marks the series as used. False: it is not a series of the sensors. */
bool sensor_ids__series(struct sensor_ids *ids, uint32_t series_id);
void sensor_ids__table(struct sensor_ids *ids, uint32_t table_id);
/* Resumes a step: what it did until now does not belong to the next interval. */
void sensor_rows__resume(struct step_sensors *ss, const struct sensor_ids *ids);

#endif
