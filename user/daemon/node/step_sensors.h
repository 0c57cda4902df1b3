/* SPDX-License-Identifier: GPL-2.0-only */
/* The readings of the node's sensors for one step, kept until a row of the step is due. */
#ifndef JP_DAEMON_NODE_STEP_SENSORS_H
#define JP_DAEMON_NODE_STEP_SENSORS_H

#include <stdint.h>

struct node;
struct step_sensors;

/* Makes the part of the sensors for a step that has begun and asks for these families, or will.
 * NULL: out of memory, or no node. */
struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns);
void step_sensors__free(struct step_sensors *ss); /* NULL is fine, here and below */
/*
 * Slow sources that no step wanted before have no reading when a step begins. They are read several
 * times within half a second, until they have one, so that the first row counts from there.
 * step_sensors__settle_due(): when that is due; UINT64_MAX: no more.
 */
uint64_t step_sensors__settle_due(const struct step_sensors *ss);
void step_sensors__settle(struct step_sensors *ss, unsigned families, uint64_t now_ns);

#endif
