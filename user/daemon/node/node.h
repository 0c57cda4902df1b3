/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The node's sensors, and its energy, which is split among its steps. Sensors are read in
 * intervals, and each step stores its readings until one of its rows is due.
 */
#ifndef JP_DAEMON_NODE_NODE_H
#define JP_DAEMON_NODE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/step/step.h"
#include "schema/family.h"
#include "sensor/core/sensor.h"

struct snapshot;

struct node_opts {
	struct sensor_roots roots;
	const char *only;      /* as sensor_set_opts has it */
	const char *plugins;   /* directory of a site's own sources (sensor/plugin/plugin.h); NULL:
				  none */
	const char *state_dir; /* where the measured idle power is stored; NULL: nowhere */
};

/* Opens the sensors. 0 or -ENOMEM. */
int node__open(struct node **out, const struct node_opts *opts);
void node__free(struct node *n); /* NULL is fine, here and below */

/* Begins: counts from before, of steps that exist now, are not used. */
void node__begin(struct node *n, struct step *steps, const struct step_env *env);
/* Reads the sensors and gives each step its share since the last tick, by the counts of the
 * snapshot. A second tick at the same instant does nothing. */
void node__tick(struct node *n, struct step *steps, const struct step_env *env, uint64_t now_ns);
/* Energy since the start, as of the last reading, J; NaN: not measured. n may be NULL. No reading
 * is made for it: who asks often learns no more (CVE-2020-8694). */
struct node_joules {
	double node, package, dram, gpu;
};
struct node_joules node__joules(const struct node *n);
/* The latest instant for the next tick, because a counter wraps in minutes. UINT64_MAX: never. */
uint64_t node__due(const struct node *n, bool any_step);

/* Families of columns that some sensor of this node measures. */
unsigned node__families(const struct node *n);

/*
 * Whether the step's file may have readings of the node as a whole. NodeTables decides this; by
 * default they are allowed where the step's job has the node for itself: it has all cores or CPUs,
 * or Slurm calls it exclusive, and no process of another job was seen since the step began. What is
 * not known counts as no. Otherwise the step gets its own part of the energy, and the readings of
 * GPUs that only its job uses.
 */
bool node_tables__allowed(struct step *s, const struct step_env *env);
/* Notes a new step: from now on steps of other jobs do not have the node for themselves. */
void node_tables__note_new(const struct step *s, const struct step_env *env);
/* The attribute "Mode ..." of a family of sensors that node_tables__allowed() withholds. */
const char *node_tables__mode(enum family f);

/* Whether there are GPUs that report, or will report, which processes use them. n may be NULL, here
 * and below. */
bool node_gpus__known(const struct node *n);
/* Before a snapshot: marks the processes that use the GPUs now. */
void node_gpus__mark(struct node *n, struct snapshot *snap);
/* Whether this node's sensors fill a series of that name. */
bool node__has_series(const struct node *n, const char *series);

/* ---- The readings of the node's sensors for one step, stored until a row of the step is due. */

/* Makes the sensors' part of a step that has begun and asks for these families, or will ask for
 * them. NULL: out of memory, or no node. */
struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns);
void step_sensors__free(struct step_sensors *ss); /* NULL is fine, here and below */
/*
 * Slow sources that no earlier step needed have no reading when a step begins. They are read
 * several times within half a second until they have one, so that the first row counts from there.
 * step_sensors__settle_due() is the instant of the next such reading; UINT64_MAX: there is none.
 */
uint64_t step_sensors__settle_due(const struct step_sensors *ss);
void step_sensors__settle(struct step_sensors *ss, unsigned families, uint64_t now_ns);

/* ---- Rows of the node's tables in the journals of steps. */

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
	double seconds; /* how long a time the energy is of; NaN: it is a row of no energy */
};
/* Finds the last row of table *i, from 0, or of the next table that has one; false: there is no
 * more. */
bool sensor_rows__last(const struct step_sensors *ss, unsigned *i, struct sensor_row *row);

/* After a restart: numbers that the journal has already, and that must not be used again. */
struct sensor_ids {
	unsigned next_series, next_table;
};
/* Marks the series as used. False: it is not a series of the sensors. */
bool sensor_ids__series(struct sensor_ids *ids, uint32_t series_id);
void sensor_ids__table(struct sensor_ids *ids, uint32_t table_id);
/* Resumes a step: what the step did until now does not belong to the next interval. */
void sensor_rows__resume(struct step_sensors *ss, const struct sensor_ids *ids);

#endif
