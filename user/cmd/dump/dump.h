/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof-dump: reads the steps and tasks of the pinned maps, and prints them in several forms. */
#ifndef JP_CMD_DUMP_DUMP_H
#define JP_CMD_DUMP_DUMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "identity/layout.h"
#include "kern/kern.h"
#include "sample/totals.h"
#include "schema/series.h"

#define DUMP_COLUMNS 128

/* The columns of a built-in series whose values are in the maps: not times, nor what cgroup files
 * have. */
struct dump_columns {
	const struct column *col[DUMP_COLUMNS];
	unsigned n;
};

/* One line of the output: a step, a task or a slot of the collector. Several slots are summed. */
struct dump_row {
	const struct dump_columns *cols;
	uint32_t slot, gen; /* the first one */
	int gtid;
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	double age;	   /* s, up to now or to the end */
	const char *state;
	bool baseline; /* it was running when first seen, and counts from then on */
	struct totals totals;
	double value[DUMP_COLUMNS]; /* amounts since the slot began, in the column's unit; NaN:
				       unknown */
	double rate[DUMP_COLUMNS];  /* of per-interval columns: the amount per second since the last
				       round */
};

struct dump_step {
	struct dump_row row;
	struct jp_slot info; /* of the step's own slot */
	struct cgroup_ids ids;
	bool parsed;
	struct dump_row *tasks; /* by gtid; JP_GTID_NONE comes first */
	unsigned ntasks;
};

/* All slots at one instant: a round. */
struct dump {
	struct kern *k;
	struct dump_columns task_cols, step_cols;
	struct column events[JP_PMU_EVENTS]; /* the columns that replace the schema's counters */
	char event_names[JP_PMU_EVENTS][JP_PMU_NAME_LEN + 1];
	uint64_t boot_ns;
	bool rates;		 /* there was a round before */
	struct dump_step *steps; /* by job, step, path */
	unsigned nsteps;
	unsigned used; /* slots */
	struct dump_row other, self;
	struct btf *types; /* of the maps' elements, for raw__json() and raw__text() */
};

/* prev: the round before, for rates; may be NULL. 0 or -errno; *d is to be freed in either case. */
int dump__take(struct dump *d, struct kern *k, const struct dump *prev);
void dump__free(struct dump *d);
/* Index of a column by name, whatever its case, or -1. */
int dump__column(const struct dump_columns *c, const char *name);
const char *dump__state(const struct jp_slot *s);
/* A step's job, or "-", and its name, or "slot N". */
struct dump_name {
	char job[32], step[80];
};
struct dump_name dump__name(const struct dump_step *s);

/* Checks a comma list of columns for the table; NULL: the usual ones of the loaded families.
 * -EINVAL: `bad` has the bad word. */
int steps__choose(const struct dump *d, const char *list, char *bad, size_t badlen);
void steps__text(const struct dump *d, FILE *out);
json_t *steps__json(const struct dump *d);
json_t *columns__json(const struct dump_row *r, bool rates);

/* Every slot in use, per CPU, as it is in the maps. */
json_t *raw__json(const struct dump *d);
void raw__text(const struct dump *d, FILE *out);

/* Which step waited for which. NULL: no memory. */
json_t *culprits__json(const struct dump *d);
void culprits__text(const struct dump *d, FILE *out);

/* Counters of the collector that are not zero, with their meaning. */
void counters__print(const struct dump *d, FILE *out);

#define SELF_PROGRAMS 64
/* The BPF programs before and after a sampling time. */
struct self {
	struct kern_prog before[SELF_PROGRAMS], after[SELF_PROGRAMS];
	int n;
	double seconds;
	int stats_err; /* run statistics could not be switched on: runs and times are unknown */
	uint64_t map_bytes;
	unsigned maps;
};
/* Reads the programs, calls wait_s with the kernel's run statistics on, and reads the programs
 * again. 0 or -errno. */
int self__sample(struct self *s, const struct kern *k, double seconds,
		 void (*wait_s)(double seconds));
void self__text(const struct self *s, const struct dump *d, FILE *out);
json_t *self__json(const struct self *s, const struct dump *d);

#endif
