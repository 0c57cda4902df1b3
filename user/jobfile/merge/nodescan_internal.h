/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of nodescan share. */
#ifndef JP_JOBFILE_NODESCAN_INTERNAL_H
#define JP_JOBFILE_NODESCAN_INTERNAL_H

#include "hdf5/cursor.h"
#include "hdf5/digest.h"
#include "jobfile/merge/nodescan.h"

struct nodescanner {
	struct digester *digester;
	struct cursor *cursor;
	struct nodescan scan;
	struct nodescan_total *totals;
	unsigned ntotals;
	uint64_t file_size; /* of the group read last */
};

void nodescan_totals__clear(struct nodescanner *s);
/* node_info.c: takes what an attribute of the node says. 0 or -ENOMEM. */
int node_info__take_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type);
/* Remembers what an error is about; returns err. */
int nodescan__fail(struct nodescan *n, int err, const char *a, const char *b, const char *trouble);

#endif
