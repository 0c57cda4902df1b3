/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the data of Slurm's gatherers to jobprofd: datasets become tables, and samples become rows.
 * Only sink__step() waits, and not longer than allowed. A row that cannot be sent is lost and
 * counted; after a restart of jobprofd the step and the tables are sent again with the next sample.
 * Every function may be called from any thread.
 */
#ifndef JP_SLURM_PROFILE_SINK_H
#define JP_SLURM_PROFILE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "client/protocol.h"

/* A column as Slurm's gatherers declare it; one of type SINK_END ends the list. */
enum sink_cell { SINK_END, SINK_U64, SINK_F64 };

struct sink_field {
	const char *name;
	int type; /* enum sink_cell */
};

struct sink;

/* log() is called with a line for Slurm's log, at most once for every kind of problem. wait_ms: how
 * long all calls of sink__step() together may wait. NULL: no memory, or a path that is too long for
 * a socket. */
struct sink *sink__new(const char *path, unsigned wait_ms, void (*log)(const char *line));
void sink__free(struct sink *s);

/* Connects, but sends nothing: jobprofd takes the rights from the process that connects, but the
 * step from its cgroup at the first message, and slurmstepd is not in its cgroup yet when a step
 * begins. */
void sink__open(struct sink *s);
/* Sends the step; to be called again when more is known. wait: waits for the answer, and logs if
 * jobprofd cannot be reached. 0; -ESRCH: jobprofd does not know the sender's cgroup yet: call this
 * again; -errno. */
int sink__step(struct sink *s, const struct jpc_step *step, bool wait);
/* JPC_MEASURES_* of the last answer; 0 before one. Takes no lock. */
uint32_t sink__measures(struct sink *s);

/* A group's number, the same for the same name; -EINVAL: bad name; -ENOSPC. */
int sink__group(struct sink *s, const char *name);
/* A table's number. group < 0: in none. -EINVAL: bad names, types or group; -ENOSPC; -ENOMEM. */
int sink__table(struct sink *s, int64_t group, const char *name, const struct sink_field *fields);
/* One row; cells as the table's fields. when: the sample's time in whole seconds, from Slurm. 0, or
 * -errno: the row is lost. */
int sink__row(struct sink *s, int table, const void *cells, time_t when);

/* Logs how many rows were lost, and closes the connection. */
void sink__end(struct sink *s);
/* In a forked child: closes the connection and does no more. */
void sink__child(struct sink *s);

#endif
