/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of a step whose rows Slurm's gatherers and the job's own programs send. Declarations and
 * rows wait here until the step's journal takes them. Their number and size are limited, because a
 * job may send anything.
 */
#ifndef JP_DAEMON_STEP_EXTERNAL_SERIES_H
#define JP_DAEMON_STEP_EXTERNAL_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/jobprof.h"
#include "client/protocol.h"
#include "daemon/step/frame.h"
#include "daemon/step/regions.h"
#include "journal/journal.h"
#include "schema/series.h"

/* ---- Numbers of series and tables in a step's journal, by kind of table. */

/* Series: those of counted kinds (step.h) begin at 0, then come those of sensors, and external
 * series up to the end. */
#define SENSOR_SERIES_FIRST   24
#define SENSOR_SERIES_END     64
#define EXTERNAL_SERIES_FIRST SENSOR_SERIES_END

/* Tables: those of tasks come from 0 upwards; those of external series count down from the last
 * number, and those of sensors count down below these. */
#define EXTERNAL_TABLE_LAST (JOURNAL_TABLES_MAX - 1)
#define SENSOR_TABLE_FIRST  (EXTERNAL_TABLE_LAST - JOURNAL_SERIES_MAX)
#define SENSOR_TABLE_END    (SENSOR_TABLE_FIRST - 3000)

/* ---- The columns of SamplePoints: those that each point has, and one per event that is counted.
 */

#define POINT_COLUMNS 9 /* of each point */

struct column;

struct point_table {
	struct jpc_column col[POINT_COLUMNS + JP_PMU_EVENTS];
	unsigned ncols;
	unsigned event[JP_PMU_EVENTS]; /* of the columns behind POINT_COLUMNS */
};

/* events: columns of the n events that are counted. An event with the name of one of the first
 * columns is left out. */
void point_table__init(struct point_table *t, const struct column *events, unsigned n);

#define EXTERNAL_TABLES	     128
#define EXTERNAL_USER_TABLES 64
#define EXTERNAL_NAMES	     100	  /* of marks, and of regions */
#define EXTERNAL_ROWS_BURST  10000.0	  /* rows of a job's own programs, at once */
#define EXTERNAL_ROWS_RATE   2000.0	  /* the same, per second */
#define EXTERNAL_BYTES_MAX   (256u << 20) /* bytes of a step's own programs in all */
#define EXTERNAL_POINTS_MAX  (512u << 20) /* bytes of SamplePoints of a step */
#define EXTERNAL_PENDING_MAX (1u << 20)	  /* bytes that wait for the journal */

/* Series that Slurm's gatherers send, and that are taken where jobprofd does not measure them. */
#define GATHERERS 3
extern const struct gatherer {
	const char *series;
	enum family family;
	uint32_t measures; /* JPC_MEASURES_* */
} gatherers[GATHERERS];

struct external_table {
	char series[72]; /* as in the file; that of users is "User" */
	char name[64];	 /* of the table in it; "" for a series that is one table */
	bool user;
	bool of_node; /* of Slurm's gatherers: readings of the node as a whole */
	struct journaled declared;
	unsigned id;	/* below EXTERNAL_IDS; the numbers in the journal are computed from it */
	unsigned ncols; /* of those that came */
	struct jpc_column *col;
	uint64_t *last; /* cells of the last row with its time columns; NULL: none yet */
};

/* Names that are attributes of the file, such as "Mark 1"; rows refer to them by number. */
struct external_names {
	char name[EXTERNAL_NAMES][64];
	unsigned n;
	struct journaled attrs;
};

enum { NAMES_MARKS, NAMES_REGIONS, NAMES };

/* One execution of a region by a thread. */
struct external_region {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t process, thread;
	struct thread_used at_begin, at_end;
};

struct external_series {
	struct external_table *table[EXTERNAL_TABLES];
	unsigned ntables, nuser;
	unsigned next_id; /* goes on over restarts of jobprofd */
	struct external_names names[NAMES];
	uint64_t *pending; /* rows: table, unix time in ns, cells */
	unsigned npending; /* words */
	size_t max_pending;
	bool in_frame;	       /* pending rows are in the frame that is being built */
	uint32_t measures;     /* JPC_MEASURES_*: jobprofd measures these itself */
	uint64_t refused;      /* rows */
	uint64_t lost_regions; /* begins and ends; a refused row counts as two */
	struct region_accounts accounts;
	uint64_t point_bytes, lost_points;
	uint64_t bytes;
	double tokens;
	uint64_t tokens_ns; /* when tokens were last updated; 0: never */
};

/* Finds or makes the table that the message declares; user: the message is from a job's program.
 * Returns the table's index, -EINVAL (names, columns), -EEXIST (it is there with other columns),
 * -EDQUOT (too many), -ENOMEM. */
int external_series__declare(struct external_series *g, const struct jpc_table *m, bool user);
/* Writes the columns of the table with that name, as jobprof emit takes them, "Residual, Temp[K]":
 * as many as fit. */
void external_series__columns(const struct external_series *g, const struct jpc_table *m, bool user,
			      char *text, size_t size);
/* Adds a row at that unix time. 0; -EDQUOT: refused, and counted; -ENOMEM. */
int external_series__row(struct external_series *g, unsigned index, int64_t time_ns,
			 const uint64_t *cells);
/* Adds a row to Marks. */
int external_series__mark(struct external_series *g, int64_t time_ns, const char *name);
/* Adds a row to Regions. What is refused counts as lost. */
void external_series__region(struct external_series *g, int64_t time_ns, const char *name,
			     const struct external_region *r);
/* Adds a row to SamplePoints for a task (below 0: not known). What is refused counts as lost. */
void external_series__point(struct external_series *g, int64_t time_ns, const struct jp_point *p,
			    int task, const struct point_table *t);
void external_series__free(struct external_series *g); /* what it holds */

/* Whether there are rows, names or accounts that the journal does not have yet. */
bool external_series__has_new(const struct external_series *g);

struct journal;
/* Appends new rows and marks to the journal of a step that began at that unix time; a table is
 * declared with its first row. Rows of_node are left out unless they are wanted. Returns the number
 * of rows. */
unsigned external_series__flush(struct external_series *g, struct journal *j,
				uint64_t start_real_ns, bool with_node);
/* After a restart: reserves the number of a series in the journal, so that new series get other
 * numbers. False: it is not external. */
bool external_series__reserve_id(struct external_series *g, uint32_t series_id);
/* After a restart: takes an attribute of the journal, which may be the name of a mark or a region.
 */
void external_series__remember_name(struct external_series *g, const char *attr, const char *text);
/* Whether anything of it was in the journal. */
bool external_series__is_known(const struct external_series *g);
/* Ends the frame: flushed rows are removed only if it was written. */
void external_series__end_frame(struct external_series *g, enum frame_end end);

#endif
