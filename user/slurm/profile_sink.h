/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From Slurm's gatherers to jobprofd: datasets become tables, samples rows. Only sink__step()
 * waits, as long as it may. What cannot be sent is dropped and counted; a jobprofd that
 * comes back is told of step and tables again with the next sample. Every function may be called
 * from any thread.
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

/* say: takes one line for people, at most one for every kind of trouble. wait_ms: what all calls of
 * sink__step() together may wait. NULL: no memory, or a path that is too long for a socket. */
struct sink *sink__new(const char *path, unsigned wait_ms, void (*say)(const char *line));
void sink__free(struct sink *s);

/* Connects and says nothing: jobprofd takes the rights of who connects, and the place of who speaks
 * first, which is not in its cgroup yet when a step begins. */
void sink__open(struct sink *s);
/* Tells of the step; again when more is known. wait: for the answer, else silent about a jobprofd
 * that is not there. -ESRCH: jobprofd cannot tell yet whose step it is, tell it again. */
int sink__step(struct sink *s, const struct jpc_step *step, bool wait);
/* JPC_MEASURES_* of the last answer; 0 before one. Takes no lock. */
uint32_t sink__measures(struct sink *s);

/* A group's number, the same for the same name; -EINVAL: bad name; -ENOSPC. */
int sink__group(struct sink *s, const char *name);
/* A table's number. group < 0: in none. -EINVAL: bad names, types or group; -ENOSPC; -ENOMEM. */
int sink__table(struct sink *s, int64_t group, const char *name, const struct sink_field *fields);
/* One row; cells as the table's fields. when: of the sample, as Slurm says it. 0, or why it was
 * dropped. */
int sink__row(struct sink *s, int table, const void *cells, time_t when);

/* The last word: says how many rows were dropped, closes the connection. */
void sink__end(struct sink *s);
/* In a forked child: only closes. */
void sink__child(struct sink *s);

#endif
