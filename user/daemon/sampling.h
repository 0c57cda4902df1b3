/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshots of all slots on the wall clock's grid, and the rows that steps have of them. */
#ifndef JP_DAEMON_SAMPLING_H
#define JP_DAEMON_SAMPLING_H

#include <stdint.h>

struct daemon;
struct step;

/* 0 or -errno. */
int daemon_snapshot(struct daemon *d);
/* Takes the rows that are due now. */
void daemon_sample(struct daemon *d, uint64_t now);
/* Sensors that must be read now and then, rows or not. */
void daemon_watch_node(struct daemon *d, uint64_t now);
/* The shortest interval of the active steps; UINT64_MAX: none is active. */
uint64_t daemon_least_interval(const struct step *steps);
/* Sets the instant of the next sample. */
void daemon_schedule_sample(struct daemon *d, uint64_t now);
/* Takes the configuration's intervals for the steps that have none of their own. */
void daemon_set_intervals(struct daemon *d);

#endif
