/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quantities of schemas/binned.def, and the bins into which rows of tables are put. */
#ifndef JP_MODEL_BINNED_H
#define JP_MODEL_BINNED_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/column.h"

/* Q_CPU ... */
enum quantity {
#define BINNED(id, series, how, of_task, scale, columns) Q_##id,
#include "schemas/binned.def"
#undef BINNED
	N_QUANTITIES
};

#define EXTREMES 11 /* quantities that are drawn as lines */

/* For each quantity, by extremes__place(): low[n], then high[n]; amounts are per second; NaN: no
 * row. NULL: there are none. */
struct extremes {
	float *of[EXTREMES];
};

/* The place of a quantity; -1: it is not drawn as a line. */
int extremes__place(enum quantity q);
/* The arrays of a quantity; NULL: there are none. */
float *extremes__of(const struct extremes *e, enum quantity q);
void extremes__free(struct extremes *e);

/* Adds the value of a row that lies in a bin. */
static inline void extremes__note(float *of, unsigned n, unsigned bin, double v)
{
	float *low = &of[bin], *high = &of[n + bin];

	if (isnan(v))
		return;
	*low = !(*low <= v) ? (float)v : *low;
	*high = !(*high >= v) ? (float)v : *high;
}

/* Joins the extremes of two units that measured the same thing. */
void extremes__join(float *of, const float *other, unsigned n);
/* Whether there is a row in any bin. */
bool extremes__are_known(const float *of, unsigned n);

enum binned_how {
	BINNED_AMOUNT,
	BINNED_COUNTED,
	BINNED_GAUGE,
	BINNED_HELD,
	BINNED_COVERED,
	BINNED_AVOIDABLE,
	BINNED_FLAGS
};

#define BINNED_COLUMNS 4

struct quantity_info {
	const char *id, *series; /* "CPU", "STEP" */
	enum binned_how how;
	bool is_kept; /* units of the series (tasks, GPUs, mounts, disks) also have bins of it */
	bool any;     /* columns that are not known count as 0 where another one is known */
	double scale;
	const char *columns[BINNED_COLUMNS]; /* NULL: no more */
};
extern const struct quantity_info quantity_infos[N_QUANTITIES];

/* Further series of a task: */
#define BINNED_BUDGET	"TimeBudget"
#define BINNED_SAMPLES	"Samples"
#define BINNED_CULPRITS "Culprits"

/* Series of units that have bins only of what is drawn, so that bins can be short: */
#define BINNED_DRAWN_NODES "DrawnNodes"
#define BINNED_DRAWN_TASKS "DrawnTasks"

/* Whether a unit of a series has bins of the quantity; series NULL: a node, which has all. A unit
 * of BINNED_BUDGET is a task, and has those of STEP too; every task has those of BINNED_SAMPLES. */
bool quantity__is_kept(enum quantity q, const char *series);

static inline bool quantity__is_gauge(enum quantity q)
{
	return quantity_infos[q].how == BINNED_GAUGE || quantity_infos[q].how == BINNED_HELD ||
	       quantity_infos[q].how == BINNED_FLAGS;
}

/* How many quantities before q are HELD; of N_QUANTITIES: how many are. */
unsigned quantity__held_before(int q);

/* Bin k is [k dt_s, (k + 1) dt_s) since the job's start; the last bin may be shorter. */
struct time_grid {
	double t0_ns; /* Unix time of the job's start */
	double dt_s, end_s;
	unsigned n;
	unsigned instants; /* each bin is divided into so many equal parts, whose ends are instants;
			      0: none */
	double row_s; /* usual time between rows of the part with the shortest one, if there are
			 extremes; else 0 */
};

/* The grid of a job from t0_ns to t1_ns whose bins are at least dt_s long, and at most n_max: the
 * length is doubled until they are. */
struct time_grid time_grid__of(double t0_ns, double t1_ns, double dt_s, unsigned n_max);
double time_grid__span_s(const struct time_grid *g, unsigned bin);

/*
 * Rows of tables as bins. An amount is spread evenly over its row's interval; a gauge holds during
 * that interval, and its bin is the mean weighted by time. (Bins of the analyses, analysis/grid.h,
 * are means of samples, of which each counts the same.) What lies outside of the grid is only in
 * the total.
 */
struct binner {
	const struct time_grid *grid;
	double cores; /* for AVOIDABLE */
	double gap_s; /* a longer row spans a gap, and counts in the total only; at first there is
			 no limit */
	double row_s; /* usual time between rows, for extremes; at first the grid's */
	double total[N_QUANTITIES]; /* sum of amounts, highest row of gauges; NaN: not known */
	double *bins;		    /* [N_QUANTITIES][n]; NaN: not known */
	double *weights; /* [N_QUANTITIES][n]: seconds in which a gauge was known, CPU time in
			  * which an event was counted */
	double counted_s[N_QUANTITIES]; /* CPU time in which an event was counted, over all rows */
	double seen_s[N_QUANTITIES], unseen_s[N_QUANTITIES]; /* rows with and without a value, of
								amounts that may rest */
	double *held; /* [HELD quantities][n x instants]: value of the row at that instant; NaN:
			 none */
	struct extremes extremes;
	uint64_t rows;
	double begin_s, end_s;	/* of all rows; NaN: there were none */
	double lived_s[2];	/* begin and end of the rows in which a thread lived; NaN: none */
	double last_s;		/* when the last of these rows began; NaN: none */
	struct bin_span *spans; /* of the rows that are being added */
	size_t nspans, room;
};

/* 0 or -ENOMEM; binner__free() in both cases. */
int binner__init(struct binner *b, const struct time_grid *grid);
void binner__free(struct binner *b);
/* Removes all rows from the bins. */
void binner__clear(struct binner *b);

/* The positions of a table's columns among the cells of its rows; -1: there is no such column, or
 * it is not known in this table. */
struct binner_columns {
	const char *series;
	int at[N_QUANTITIES][BINNED_COLUMNS];
	enum col_type type[N_QUANTITIES][BINNED_COLUMNS];
};

/* Adds rows[n] of `stride` cells. end_s[n]: when each row ended, since the job's start; begin_s:
 * when the first of them began. 0 or -ENOMEM. */
int binner__add(struct binner *b, const struct binner_columns *c, const union cell *rows,
		unsigned stride, unsigned n, double begin_s, const double *end_s);
/* Ends a table, and makes its gauges means. Tables of a group are added up, both amounts and
 * gauges. */
void binner__end_table(struct binner *b);
/* Adds another unit to this one: a task to its step. Where gauges of several are added, their total
 * is the highest sum at an instant of those that are HELD, else the highest bin. */
void binner__merge(struct binner *b, const struct binner *other);
/* Adds only the quantities of one series, and no rows. */
void binner__merge_series(struct binner *b, const struct binner *other, const char *series);
/* Forgets all that is known of the quantities of a series. */
void binner__forget(struct binner *b, const char *series);
/* Adds another step of the same node: quantities of the node, not of its steps, count once. */
void binner__join_step(struct binner *b, const struct binner *other);

#endif
