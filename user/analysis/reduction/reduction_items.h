/* SPDX-License-Identifier: GPL-2.0-only */
/* The sample of a reduction, for its own files. */
#ifndef JP_ANALYSIS_REDUCTION_REDUCTION_ITEMS_H
#define JP_ANALYSIS_REDUCTION_REDUCTION_ITEMS_H

#include "analysis/reduction/reduction.h"

/* 0 or -ENOMEM, all of them. */
int reduction_items__row(struct reduction *r, const struct reduction_table *t, uint64_t row,
			 const double *values);
/* A copy of an item; column i of its values is column at[i] here. */
int reduction_items__add(struct reduction *r, const struct reduction_item *from, const int *at);
int reduction_items__merge(struct reduction *r, const struct reduction *from, const int *at);
/* Column i of all values becomes column at[i]; after -ENOMEM they are as they were. */
int reduction_items__move(struct reduction *r, const int *at);
/* Leaves the k smallest, ascending. */
void reduction_items__cut(struct reduction *r);
void reduction_item__clear(struct reduction_item *i);

#endif
