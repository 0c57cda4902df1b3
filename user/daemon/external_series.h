/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of a step whose rows others bring: Slurm's gatherers, and the job's own programs. What
 * they declare and say is kept here until the step's journal takes it; how much of it there may
 * be is bounded, for a job may say anything.
 */
#ifndef JP_DAEMON_EXTERNAL_SERIES_H
#define JP_DAEMON_EXTERNAL_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/protocol.h"
#include "schema/series.h"

#define GUEST_TABLES	  128
#define GUEST_USER_TABLES 64
#define GUEST_MARKS	  100	       /* different names */
#define GUEST_ROWS_BURST  10000.0      /* of a job's own programs, at once, */
#define GUEST_ROWS_RATE	  2000.0       /* and per second */
#define GUEST_BYTES_MAX	  (256u << 20) /* of a step's own programs in all */
#define GUEST_PENDING_MAX (1u << 20)   /* bytes that wait for the journal */

struct guest_table {
	char series[72]; /* as in the file; that of users is "User" */
	char name[64];	 /* of the table in it; "" for a series that is one table */
	bool user;
	bool told;	/* the journal knows it */
	unsigned id;	/* below GUEST_IDS: the journal's numbers are made of it */
	unsigned ncols; /* of those that came */
	struct jpc_column *col;
	uint64_t *last; /* cells of the last row with its time columns; NULL: none yet */
};

struct guests {
	struct guest_table *table[GUEST_TABLES];
	unsigned ntables, nuser;
	unsigned next_id; /* goes on over restarts of jobprofd */
	char marks[GUEST_MARKS][64];
	unsigned nmarks, marks_told;
	uint64_t *pending;		/* rows: table, unix time in ns, cells */
	unsigned npending, max_pending; /* words */
	uint32_t measures;		/* JPC_MEASURES_*: these tables are ours */
	uint64_t refused;		/* rows */
	uint64_t bytes;
	double tokens;
	uint64_t tokens_ns; /* when they were counted; 0: never */
};

/* The table that the message declares, an earlier one or new; user: by a job's program. Its index,
 * -EINVAL (names, columns), -EEXIST (it is there with other columns), -EDQUOT (too many),
 * -ENOMEM. */
int guests__declare(struct guests *g, const struct jpc_table *m, bool user);
/* One row, at that unix time. 0; -EDQUOT: refused, and counted; -ENOMEM. */
int guests__row(struct guests *g, unsigned index, int64_t time_ns, const uint64_t *cells);
/* A row in Marks. */
int guests__mark(struct guests *g, int64_t time_ns, const char *name);
void guests__free(struct guests *g); /* what it holds */

/* Something is there that the journal has not. */
bool guests__any(const struct guests *g);

struct journal;
/* Appends what is new to the journal, a table with its first row, of a step that began at that unix
 * time. Returns the rows. */
unsigned guests__flush(struct guests *g, struct journal *j, uint64_t start_real_ns);
/* After a restart: whether the journal's series of that number was a guest's; another one gets
 * another number. */
bool guests__taken(struct guests *g, uint32_t series_id);
/* After a restart: an attribute of the journal, which may be what a mark's number stands for. */
void guests__remember_mark(struct guests *g, const char *attr, const char *text);
/* What was appended is in the journal; or it is left out, and is appended again the next time. */
void guests__settle(struct guests *g, bool kept);

#endif
