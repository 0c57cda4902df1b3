/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_JOBFILE_NODESCAN_INTERNAL_H
#define JP_JOBFILE_NODESCAN_INTERNAL_H

#include "hdf5/cursor.h"
#include "hdf5/digest.h"
#include "jobfile/nodeimage.h"
#include "jobfile/nodescan.h"

struct nodescanner {
	struct digester *digester;
	struct nodeimage *image;
	struct cursor *cursor;
	struct nodescan scan;
	struct nodescan_total *totals;
	unsigned ntotals;
	bool has_image;	    /* the totals are made, and all rows have passed */
	uint64_t file_size; /* of the group read last */
};

void nodescan_totals__clear(struct nodescanner *s);
/* Remembers what an error is about; returns err. */
int nodescan__fail(struct nodescan *n, int err, const char *a, const char *b, const char *trouble);

#endif
