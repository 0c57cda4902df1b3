/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the cells of a table's next row from a reading at its last row and a reading now. */
#ifndef JP_SAMPLE_ROWS_H
#define JP_SAMPLE_ROWS_H

#include <stdbool.h>

#include "bpf/jobprof.h"
#include "sample/totals.h"
#include "schema/series.h"

/* All values from which a table's rows are made, at one instant. */
struct reading {
	uint64_t boot_ns;
	struct totals totals;
	double cg[CG_N];
	uint64_t hist[HIST_CELLS];
};

/* Memory seen by the snapshots since a table's last row, for its next row. Bytes. */
struct between {
	uint64_t peak;		 /* highest RSS */
	uint64_t left[T_LEFT_N]; /* T_THREADS to T_HUGETLB of processes that have ended */
};

struct row_context {
	uint64_t start_boot_ns; /* of the step */
	uint64_t start_real_ns;
	uint64_t peak;	    /* highest RSS in bytes seen since the last row; 0: no process lived */
	uint64_t ended_rss; /* RSS in bytes of processes that have ended since; used if none lives
			       now; 0: not known */
	uint64_t sample_ns; /* calibrated cost of one sample; 0: unknown */
	uint64_t probe_ns;  /* calibrated cost of one program run; 0: unknown */
	uint64_t pmu_ns;    /* cost of one reading of the hardware counters */
	unsigned families;  /* loaded families: columns of others are unknown */
	unsigned rested;    /* families that rested in the row's time: kern__rested() */
	unsigned npmu;	    /* events counted */
	unsigned missing;   /* bits: events that this machine cannot count */
	unsigned blind;	    /* JP_BLIND_* */
	bool gpus;	    /* the processes that use GPUs are known */
};

/* Copies the fields of the control page on which rows depend. */
void rows__context(struct row_context *c, const struct jp_control *control);

/* Cells of the given columns: out[ncols]. A column without a source is NaN, or 0 if it is U64. */
void rows__fill(const struct row_context *c, const struct reading *prev, const struct reading *now,
		const struct column *const *cols, unsigned ncols, union cell *out);

/* The state after a row that was made from these totals. */
struct between rows__between(const struct totals *last);
/* Adds the memory that a snapshot has seen. */
void rows__note(struct between *b, const struct totals *now);
/* If no process lives at this instant, sets the gauges to those of processes that have ended. */
void rows__use_left(const struct between *b, struct totals *now);

#endif
