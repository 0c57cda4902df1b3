/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The readings of the node's sensors, and the node's energy split among its steps: they are read in
 * intervals, and stored for each step until a row of the step is due.
 */
#ifndef JP_DAEMON_NODE_NODE_H
#define JP_DAEMON_NODE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/family.h"
#include "sensor/core/sensor.h"

struct node;
struct snapshot;
struct step;
struct step_env;

struct node_opts {
	struct sensor_roots roots;
	const char *only;      /* as sensor_set_opts has it */
	const char *plugins;   /* directory of a site's own sources (sensor/plugin/plugin.h); NULL:
				  none */
	const char *state_dir; /* where what was learnt of idle power is kept; NULL: nowhere */
};

/* Opens the sensors. 0 or -ENOMEM. */
int node__open(struct node **out, const struct node_opts *opts);
void node__free(struct node *n); /* NULL is fine, here and below */

/* Begins: earlier counts of the steps that are there now are not used. */
void node__begin(struct node *n, struct step *steps, const struct step_env *env);
/* Reads the sensors and gives each step its share since the last tick, by the counts of the
 * snapshot. A second tick at the same instant does nothing. */
void node__tick(struct node *n, struct step *steps, const struct step_env *env, uint64_t now_ns);
/* When the next tick is due at the latest, since a counter wraps in minutes. UINT64_MAX: never. */
uint64_t node__due(const struct node *n, bool any_step);

/* Families of columns that some sensor of this node measures. */
unsigned node__families(const struct node *n);

/*
 * Whether the step's file may have what sensors and the kernel say of the node as a whole: as
 * NodeTables says, by default where the step's job has the node for itself: it has all cores or
 * CPUs, or Slurm says that it is exclusive, and no process of another job was seen since the step
 * began. Unknown is no. Energy is the step's own part otherwise, a GPU's readings those of a GPU
 * that the job alone uses.
 */
bool node_tables__allowed(struct step *s, const struct step_env *env);
/* A step is new: steps of other jobs do not have the node for themselves from now on. */
void node_tables__note_new(const struct step *s, const struct step_env *env);
/* The attribute "Mode ..." of a family of sensors that node_tables__allowed() withholds. */
const char *node_tables__mode(enum family f);

/* There are GPUs that report, or will report, which processes use them. n may be NULL, here and
 * below. */
bool node_gpus__known(const struct node *n);
/* Before a snapshot: marks the processes that use the GPUs now. */
void node_gpus__mark(struct node *n, struct snapshot *snap);
/* The files of steps have a series of that name from this node's sensors. */
bool node__has_series(const struct node *n, const char *series);

#endif
