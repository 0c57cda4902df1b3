/* SPDX-License-Identifier: GPL-2.0-only */
/* What the node's sensors say to one step: kept until a row of it is due. */
#ifndef JP_DAEMON_STEP_SENSORS_H
#define JP_DAEMON_STEP_SENSORS_H

#include <stdint.h>

struct node;
struct step_sensors;

/* A step has begun, which asks for these families or will: what it is of the node's. NULL: out of
 * memory, or no node. */
struct step_sensors *step_sensors__new(struct node *n, unsigned families, uint64_t now_ns);
void step_sensors__free(struct step_sensors *ss); /* NULL is fine, here and below */
/*
 * Slow sources that nobody wanted before have said nothing yet when a step begins: until they do,
 * or for half a second, they are read again now and then, so that the first row counts from there.
 * When that is due; UINT64_MAX: it is settled.
 */
uint64_t step_sensors__settle_due(const struct step_sensors *ss);
void step_sensors__settle(struct step_sensors *ss, unsigned families, uint64_t now_ns);

#endif
