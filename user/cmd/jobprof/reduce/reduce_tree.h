/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes of a reduction as a tree: each adds what those below it have, in the order of their
 * numbers, and sends the sum up. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_TREE_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_TREE_H

#include "cmd/jobprof/reduce/reduce.h"

#define REDUCE_FANOUT 32u

static inline unsigned reduce_tree__parent(unsigned rank)
{
	return (rank - 1) / REDUCE_FANOUT;
}

/* Adds what the processes below this one send to *out, and sends the sum up. 0 or -errno. */
int reduce_tree__up(struct reduce_work *w, const struct reduce_world *world, struct reduction *out);
/* The message of process 0 goes to all: in the others *m is what came. 0 or -ECONNRESET. */
int reduce_tree__down(const struct reduce_world *world, struct message *m);
/* In process 0 *out, which is zeroed, is of all files. reduce_result__free() in all cases. 0, or
 * the exit status and it has said why. */
int reduce_tree__collect(struct reduce_work *w, const struct reduce_world *world,
			 struct reduce_result *out);

#endif
