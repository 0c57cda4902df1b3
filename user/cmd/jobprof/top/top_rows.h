/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What jobprof top shows: jobs, their steps, and the tasks of these, or the nodes of one job; each
 * with its last numbers. A list is made anew at each look; an order, a filter and what is folded
 * stay from look to look (struct top_view).
 */
#ifndef JP_CMD_JOBPROF_TOP_ROWS_H
#define JP_CMD_JOBPROF_TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_list.h"

/* Numbers of a row; NaN: not known. Rates are of the time that the last row of the table counts. */
enum top_value {
	TOP_CPU,  /* % of a CPU */
	TOP_WAIT, /* % of a thread's time, runnable and waiting for a CPU */
	TOP_DISK, /* the same, blocked on a disk */
	TOP_READ, /* bytes a second, of files and sockets by read calls */
	TOP_WRITTEN,
	TOP_BLK_READ, /* bytes a second, of this node's disks */
	TOP_BLK_WRITTEN,
	TOP_NET_IN, /* bytes a second, loopback not included */
	TOP_NET_OUT,
	TOP_MEMORY,  /* bytes: of a step what its cgroup is charged with, of a task what is resident
		      */
	TOP_LIMIT,   /* bytes */
	TOP_POWER,   /* W */
	TOP_GPU,     /* % of a GPU */
	TOP_GPU_MEM, /* bytes */
	TOP_THREADS,
	TOP_TIME,    /* s of CPU time since the step began */
	TOP_ELAPSED, /* s since the step began */
	TOP_AGE,     /* s since the row; of a node in a file */
	TOP_ID,	     /* a number to sort by */
	TOP_VALUES,
	TOP_DISK_RATE,	 /* for columns: TOP_BLK_READ and TOP_BLK_WRITTEN, if not known TOP_READ ...
			  */
	TOP_NET_RATE,	 /* TOP_NET_IN and TOP_NET_OUT */
	TOP_MEMORY_PART, /* % of the limit */
};

enum top_kind { TOP_JOB, TOP_STEP, TOP_TASK };

struct top_row {
	enum top_kind kind; /* of the nodes of a job: TOP_JOB */
	char id[64];	    /* "4711", "0", "batch", "task 3", "n1" */
	char key[96];	    /* the same row at the next look: "4711", "4711.0", "4711.0/3" */
	char user[64], name[128];
	unsigned parent; /* index; TOP_NONE: none */
	bool has_rows;	 /* jobprofd has a row of it */
	double v[TOP_VALUES];
};

#define TOP_NONE UINT32_MAX

struct top_rows {
	struct top_row *v; /* a parent stands before its children */
	unsigned n;
	double node_power; /* W; NaN: not known */
	bool no_memory;
};

void top_rows__free(struct top_rows *r);
/* A row with nothing known; NULL: no memory, which r notes. */
struct top_row *top_rows__add(struct top_rows *r, enum top_kind kind, unsigned parent);
/* A value, or what a column makes of several. */
double top_row__value(const struct top_row *r, unsigned value);

/* The steps that jobprofd shows this caller: of one job, or of all with JPC_ALL. 0, or the negative
 * errno with its reason. */
int top_rows__ask(struct top_rows *r, uint32_t job, char *reason, unsigned size);

struct top_view {
	unsigned sort; /* enum top_value */
	bool ascending, flat;
	char filter[64], user[64];   /* "": all */
	struct string_list folded;   /* keys */
	const struct top_rows *rows; /* while they are put in order */
	unsigned *shown, nshown;     /* indices, as they stand on the screen */
};

/* Makes shown[] of these rows. 0 or -ENOMEM. */
int top_view__arrange(struct top_view *v, const struct top_rows *rows);
bool top_view__is_folded(const struct top_view *v, const struct top_row *r);
void top_view__fold(struct top_view *v, const struct top_row *r);
/* Whether its id, user or name has the text, in any case. */
bool top_row__has(const struct top_row *r, const char *text);
void top_view__free(struct top_view *v);

#endif
