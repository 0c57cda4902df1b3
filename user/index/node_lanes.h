/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of node_page.h that is about the node, and the jobs that were on it. */
#ifndef JP_INDEX_NODE_LANES_H
#define JP_INDEX_NODE_LANES_H

#include "index/node_page.h"

/* Fills p->about and p->lanes, these in the order of their begin. As node_page__read();
 * node_lanes__free() in all cases. */
int node_lanes__read(struct node_page *p, struct index *ix, const char *node,
		     const struct job_filter *f, const struct viewer *v);
void node_lanes__free(struct node_page *p);
/* The lane of a job of the index; NULL: none. */
struct node_lane *node_lanes__of(const struct node_page *p, int64_t id);
/* Begins a statement about jobs that may have run on the node in the time of the page: SELECT
 * columns, of the tables job_node n and job j, and of `more`. */
void node_lanes__query(struct query *q, const char *columns, const char *more, const char *node,
		       const char *cluster, const struct job_filter *f, const struct viewer *v);

#endif
