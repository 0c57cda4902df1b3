/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshots of all slots on the wall clock's grid, and the rows that steps have of them. */
#ifndef JP_DAEMON_FOLLOW_SAMPLING_H
#define JP_DAEMON_FOLLOW_SAMPLING_H

#include <stdint.h>

struct daemon;
struct step;
struct step_env;

/* Takes a snapshot. 0 or -errno. */
int sampling__snapshot(const struct step_env *env);
/* Takes a snapshot of which no row is made; all steps keep the peaks that it has seen. 0 or
 * -errno. */
int sampling__look(const struct step_env *env);
/* Journals a row of each table of the step, of the last snapshot. */
void sampling__rows_of(struct step *s, const struct step_env *env);
/* Takes a snapshot and journals the rows that are due. */
void sampling__rows(struct step_env *env);
/* Reads counters that wrap in minutes, whether rows are due or not. */
void sampling__watch_node(struct step_env *env, uint64_t now);
/* The shortest interval of the active steps; UINT64_MAX: none is active. */
uint64_t sampling__least_interval(const struct step *steps);
/* Sets the instant of the next sample. */
void daemon_schedule_sample(struct daemon *d, uint64_t now);
/* Takes the configuration's intervals for the steps that have none of their own. */
void daemon_set_intervals(struct daemon *d);

#endif
