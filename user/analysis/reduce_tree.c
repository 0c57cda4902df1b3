// SPDX-License-Identifier: GPL-2.0-or-later
/* The shape of a tree over the nodes of a job. */
#include "analysis/reduce.h"

enum analysis_status reduce_tree__of(size_t n, size_t fanout, struct reduce_tree *t)
{
	*t = (struct reduce_tree){.last_parent = SIZE_MAX};
	if (!fanout)
		return ANALYSIS_UNSUITABLE;
	if (!n)
		return ANALYSIS_INSUFFICIENT;
	for (size_t i = n - 1; i; i = (i - 1) / fanout)
		t->depth++;
	t->root_children = n - 1 < fanout ? n - 1 : fanout;
	/* Node i has a child where i * fanout + 1 < n. */
	t->leaves = n - (n - 1) / fanout - ((n - 1) % fanout != 0);
	if (n > 1)
		t->last_parent = (n - 2) / fanout;
	return ANALYSIS_OK;
}
