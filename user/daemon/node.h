/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sensors of the node say, and its energy split among its steps: read in intervals, kept for
 * each step until a row of its is due.
 */
#ifndef JP_DAEMON_NODE_H
#define JP_DAEMON_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sensor/core/sensor.h"
#include "schema/series.h"

#define MAX_COLUMNS 96 /* of one table */

struct node;
struct step;
struct step_env;
struct step_sensors;

struct node_opts {
	struct sensor_roots roots;
	const char *only;      /* as sensor_set_opts has it */
	const char *plugins;   /* directory of a site's own sources (sensor/plugin/plugin.h); NULL:
				  none */
	const char *state_dir; /* where what was learnt of idle power is kept; NULL: nowhere */
};

/* Opens the sources. 0 or -ENOMEM. */
int node__open(struct node **out, const struct node_opts *opts);
void node__free(struct node *n); /* NULL is fine, here and below */

struct snapshot;
/* There are GPUs that say, or will say, who uses them. */
bool node_gpus__known(const struct node *n);
/* Before a snapshot: tells it who uses the GPUs now. */
void node_gpus__mark(struct node *n, struct snapshot *snap);
/* Nothing of the steps that are there now was counted before. */
void node__begin(struct node *n, struct step *steps, const struct step_env *env);
/* Reads the sensors and gives each step its share since the last time, as the snapshot has what
 * they did. Twice at the same instant is once. */
void node__tick(struct node *n, struct step *steps, const struct step_env *env, uint64_t now_ns);
/* When the next tick is due at the latest; a counter wraps in minutes. UINT64_MAX: never. */
uint64_t node__due(const struct node *n, bool any_step);

/* A step has begun, which asks for these families or will: what it is of the node's. NULL: out of
 * memory, or no node. */
struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns);
void step_sensors__free(struct step_sensors *s);
/*
 * Slow sources that nobody wanted before have said nothing yet when a step begins: until they do,
 * or for half a second, it is looked again now and then, so that the first row counts from there.
 * When that is due; UINT64_MAX: it is settled.
 */
uint64_t step_sensors__settle_due(const struct step_sensors *s);
void step_sensors__settle(struct step_sensors *s, unsigned families, uint64_t now_ns);
/* Journals rows of the tables of this kind, told to the journal where that is new. How many. */
unsigned sensor_rows__put(struct step *s, const struct step_env *env, int kind);
/* The frame with the rows is kept, so that the next ones count from there, or left out. */
void sensor_rows__settle_frame(struct step_sensors *s, bool kept);
/* The last row of a table. */
struct sensor_row {
	const char *series, *name; /* name "": the series is one table */
	unsigned ncols;
	const struct column *cols[MAX_COLUMNS];
	const union cell *cells;
};
/* Of the table number *i, from 0, or the next that has one; false: there is no more. */
bool sensor_rows__last(const struct step_sensors *s, unsigned *i, struct sensor_row *row);
/* After a restart: numbers that are in the journal and are not used again. */
struct sensor_ids {
	unsigned next_series, next_table;
};
/* False: the series is none of ours. */
bool sensor_ids__series(struct sensor_ids *ids, uint32_t series_id);
void sensor_ids__table(struct sensor_ids *ids, uint32_t table_id);
/* The step went on before us: what it did until now is not of the next interval. */
void sensor_rows__resume(struct step_sensors *s, const struct sensor_ids *ids);
/* Whether steps' files have a series of that name from here. */
bool sensor_tables__has(const struct node *n, const char *series);
/* Families of columns that something on this node measures. */
unsigned node__families(const struct node *n);
/* Attributes that say how the step's energy came about. */
void sensor_rows__put_attrs(struct step *s);

/* Numbers in a journal: of series from here, below those of guests; of tables below guests'. */
#define SENSOR_SERIES_FIRST 4
#define SENSOR_SERIES_END   64

#endif
