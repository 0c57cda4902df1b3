/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes one complete HDF5 node-step file, laid out as Slurm's, from a journal. */
#ifndef JP_HDF5_NODESTEP_H
#define JP_HDF5_NODESTEP_H

#include <stdbool.h>
#include <stdint.h>

struct nodestep_stats {
	unsigned series;
	unsigned tables;
	uint64_t rows;
	uint64_t rejected;   /* records that the journal's own declarations do not cover */
	uint64_t torn_bytes; /* after the last good frame */
	uint64_t torn_rows;  /* rows in these bytes, at least */
	bool complete;	     /* the journal says that the step has ended */
};

/* Selects the rows after one instant and up to another; Unix time. */
struct nodestep_window {
	int64_t after_ns, until_ns;
};

/*
 * Makes NAME in the directory dir_fd from the journal: group /<Node Name>, its attributes, every
 * declared table that has rows or attributes, Totals/<series> of what has 16 rows or more, and
 * Columns (hdf5/columns_table.h). The series that Slurm's tool extracts are there in any case. An
 * existing NAME is removed first, links are not followed. The journal is read by pread, as far as
 * it reaches now; the attribute "Torn Rows" counts the rows of a torn end, at least. The file is
 * complete and closed on return and, without a window, on the disk.
 *
 * 0; -EBADMSG: not a journal; -ENODATA: it names no node; -EINVAL: the node's name cannot be a
 * group; -EIO and other -errno of the file system. After an error NAME does not exist.
 * st may be NULL.
 *
 * window, or NULL: only these rows are written, as if the step had begun with the window, except
 * that ElapsedTime counts from the real begin. Peaks of programs are then unknown, since the
 * journal has them for the whole step only.
 */
int nodestep__build(int journal_fd, int dir_fd, const char *name,
		    const struct nodestep_window *window, struct nodestep_stats *st);

#endif
