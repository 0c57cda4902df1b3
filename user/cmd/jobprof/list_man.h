/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof list: the manual page of metrics, and the texts that all lists share. */
#ifndef JP_CMD_JOBPROF_LIST_MAN_H
#define JP_CMD_JOBPROF_LIST_MAN_H

#include <stdio.h>

#include "schema/series.h"

/* "time", "gauge", "per interval", "cumulative" */
const char *list__kind(const struct column *c);
/* How many histogram buckets follow each other from column i on: they are listed as one. */
unsigned list__buckets(const struct series *s, unsigned i);
/* A column that describes all buckets from the first to the last, with k for their number. */
struct column list__buckets_as_one(const struct column *first, const struct column *last,
				   char doc[static 160]);

#endif
