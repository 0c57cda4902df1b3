/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to change in jobs that are alike: as a row of a table, and as text. */
#ifndef JP_CMD_JOBPROF_SITE_CHANGE_H
#define JP_CMD_JOBPROF_SITE_CHANGE_H

#include "cmd/jobprof/site_args.h"
#include "index/many.h"

extern const struct site_column site_change__columns[];
extern const unsigned site_change__ncolumns;

/* Adds a row of these columns, with the last contact about it that the viewer may see. 0, -ENOMEM,
 * or -errno of the index. */
int site_change__add(struct site_table *t, struct index *ix, const struct viewer *v,
		     const struct site_args *a, const struct many *m);
/* Prints a finding of a signature, with the line to copy in a line of its own. 0 or -1: no memory.
 */
int site_change__print(const struct many *m);

#endif
