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

struct node;
struct step;
struct step_env;

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

/* Nothing of the steps that are there now was counted before. */
void node__begin(struct node *n, struct step *steps, const struct step_env *env);
/* Reads the sensors and gives each step its share since the last time, as the snapshot has what
 * they did. Twice at the same instant is once. */
void node__tick(struct node *n, struct step *steps, const struct step_env *env, uint64_t now_ns);
/* When the next tick is due at the latest; a counter wraps in minutes. UINT64_MAX: never. */
uint64_t node__due(const struct node *n, bool any_step);

/* Families of columns that something on this node measures. */
unsigned node__families(const struct node *n);

#endif
