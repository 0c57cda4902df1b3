/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a node's page: the ledger of who waited for whom, and the node's speed. */
#ifndef JP_CMD_JOBPROF_NODE_LEDGER_H
#define JP_CMD_JOBPROF_NODE_LEDGER_H

#include <jansson.h>

#include "index/node_page.h"
#include "index/slower.h"

/* sees_all: other jobs have columns of their own, else all of them one without a name. */
json_t *node_ledger__json(const struct node_page *p, bool sees_all);
/* The rows of that JSON with a member for each column. Takes nothing away from it. */
json_t *node_ledger__rows(const json_t *ledger);
void node_ledger__print(const struct node_page *p, bool sees_all);
/* Names of jobs that waited for each other, those that waited most first. */
json_t *node_ledger__pairs_json(const struct node_page *p);

/* Speeds of the nodes of one kind. */
struct node_speed {
	struct slower_speed *v; /* the first is the node itself, if has_own */
	unsigned n;
	bool has_own;
	struct string_list texts;
};
int node_speed__read(struct node_speed *s, struct index *ix, const struct node_about *a,
		     const struct job_filter *f, const struct viewer *v);
/* null: nothing is known. */
json_t *node_speed__json(const struct node_speed *s);
void node_speed__print(const struct node_speed *s);
void node_speed__free(struct node_speed *s);

#endif
