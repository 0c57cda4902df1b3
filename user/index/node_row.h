/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job used on each of its nodes, and what the node did meanwhile, in rows of five minutes
 * (schemas/noderow.def): for pages of nodes, over the jobs that were there. The index stores rows
 * of the last NODE_ROW_DAYS days.
 */
#ifndef JP_INDEX_NODE_ROW_H
#define JP_INDEX_NODE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "pool/message.h"

struct model_job;

#define NODE_ROW_S    300
#define NODE_ROW_DAYS 35
#define NODE_ROW_MAX  (1u << 20) /* of a job; further nodes have none */

enum node_value {
#define NODE_ROW(name, how, scale, of) NODE_##name,
#include "schemas/noderow.def"
	N_NODE_VALUES
};
extern const char *const node_value_names[N_NODE_VALUES];

#define NODE_UNKNOWN INT32_MIN

/* The rows of a job on one node. */
struct node_series {
	char *node, *model;	       /* of its processors, "": not known */
	double cores, cpus, memory_mb; /* of the whole node; NaN: not known */
	int64_t first;		       /* Unix time / NODE_ROW_S of the first row */
	unsigned n;
	int32_t *v; /* n x N_NODE_VALUES */
};

struct node_rows {
	struct node_series *v;
	unsigned n;
};
void node_rows__free(struct node_rows *r);

/* Adds the job's rows of the last NODE_ROW_DAYS days. Numbers are rounded so that their sums are
 * exact. 0 or -ENOMEM; node_rows__free() in both cases. */
int node_rows__of_job(struct node_rows *r, const struct model_job *j);

/* Whether one value may be so: a node of that many CPUs (NaN: not known) cannot have worked, used
 * or moved more in one row. */
bool node_row__may_be(enum node_value of, int32_t v, double cpus);

/* As an array of objects: node, kind (model, cores, cpus, memory_mb), from (Unix time of the first
 * row) and an array for each value of which something is known. */
json_t *node_rows__json(const struct node_rows *r);
/* Reads such an array, which may contain anything. NULL, or what is wrong. */
const char *node_rows__of_json(struct node_rows *r, const json_t *a);

/* Pass rows to another process. 0; -EBADMSG; -ENOMEM. */
int node_rows__put(const struct node_rows *r, struct message *m);
int node_rows__take(struct node_rows *r, struct message *m);

#endif
