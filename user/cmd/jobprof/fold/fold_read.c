// SPDX-License-Identifier: GPL-2.0-only
/* Reads what is folded. */
#include "cmd/jobprof/fold/fold_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "hdf5/hdf5.h"

static int read_node(struct points *p, struct reader *r, const struct node_ref *ref,
		     unsigned number, struct symbols *symbols)
{
	struct reader_node *node = NULL;
	int err = reader__node(r, ref->step, ref->node, NULL, &node);

	if (!err)
		err = points__read(p, node, number);
	if (!err && !p->nregions)
		err = points__read_bursts(p, node, number);
	if (!err)
		err = points__name(p, node, number, symbols);
	reader_node__free(node);
	return err;
}

int fold_read__points(struct points *p, struct reader *r, const struct selection *steps,
		      struct symbols *symbols)
{
	_cleanup_free_ struct node_ref *refs = NULL;
	unsigned n = 0, found = 0;
	int err = select__nodes(r, steps, &refs, &n);

	if (!err && !n && steps->nsteps)
		return -ESRCH;
	for (unsigned i = 0; !err && i < n; i++) {
		err = read_node(p, r, &refs[i], i, symbols);
		found += !err;
		err = err == -ENOENT ? 0 : err;
	}
	return err ? err : found ? points__fill_gaps(p) : -ENODATA;
}
