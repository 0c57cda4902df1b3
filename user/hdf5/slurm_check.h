/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Impossible values in tables that Slurm's own plugin wrote: memory that Slurm never set
 * (GPUMemMB), NO_VAL of sensors, counters that ran backwards, more than a machine can do, and a
 * clock that was set back. This is a part of the cursor, through which all verbs read: such a value
 * becomes NaN, the time of rows goes on, and the values are noted in base/read_note.h.
 */
#ifndef JP_HDF5_SLURM_CHECK_H
#define JP_HDF5_SLURM_CHECK_H

#include "hdf5/cursor.h"

/* All zeros before the first table. */
struct slurm_check {
	bool on; /* the table has such values; columns of integers with such values are COL_F64 now
		  */
	bool beside; /* set by the caller: the table is in a file of jobprof, where a gatherer of
			Slurm's may have written it */
	struct slurm_column *cols; /* of the cursor, in its order */
	unsigned ncols;
	struct clock_step *steps; /* by row */
	unsigned nsteps;
	double cpus;  /* of the step on the node; NaN: not known */
	uint64_t row; /* the next one to look at */
	struct slurm_times {
		int epoch, elapsed; /* columns, -1: none */
		bool begun;
		uint64_t last, later; /* s */
	} times;
	union cell *block;
	size_t room; /* in the block, cells */
};

/* For the cursor's table, of the series or of its totals: begin(), then look() at all rows, then
 * judge(). Where a table is damaged, the rows before the damage are judged. 0 or -ENOMEM. */
int slurm_check__begin(struct slurm_check *k, const struct cursor *c, const char *series,
		       bool totals, double cpus);
int slurm_check__look(struct slurm_check *k, const struct cursor *c, const union cell *rows,
		      unsigned n);
void slurm_check__judge(struct slurm_check *k, struct cursor *c);
/* Puts NaN for impossible values into n rows from `row` on; *rows then points to memory of the
 * check, which is valid until the next call. 0 or -ENOMEM. */
int slurm_check__mend(struct slurm_check *k, const struct cursor *c, uint64_t row,
		      const union cell **rows, unsigned n);
/* Gives the columns their types back. */
void slurm_check__end(struct slurm_check *k, struct cursor *c);
void slurm_check__free(struct slurm_check *k);

#endif
