/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From Slurm's gatherers to jobprofd: datasets become tables, samples rows. Only sink__begin()
 * waits, as long as it is told to. What cannot be sent is dropped and counted; a jobprofd that
 * comes back is told of step and tables again with the next sample. Every function may be called
 * from any thread.
 */
#ifndef JP_SLURM_PROFILE_SINK_H
#define JP_SLURM_PROFILE_SINK_H

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

/* say: takes one line for people, at most one for every kind of trouble. NULL: no memory, or a
 * path that is too long for a socket. */
struct sink *sink__new(const char *path, void (*say)(const char *line));
void sink__free(struct sink *s);

/* Tells of the step and waits for the answer up to timeout_ms; 0: does not wait and is silent
 * about a jobprofd that is not there. Told again with other timeout 0 when more is known. */
void sink__step(struct sink *s, const struct jpc_step *step, unsigned timeout_ms);
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
