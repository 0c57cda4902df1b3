/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores rows of nodes in the index, and deletes those that are too old. */
#ifndef JP_INDEX_NODE_STORE_H
#define JP_INDEX_NODE_STORE_H

#include "index/index.h"

/* A job as it is stored, or is going to be. */
struct node_job {
	int64_t id;
	const struct row *row; /* cluster, begin and end */
};

/* Deletes the rows of a job; but: of those nodes alone that are not in this list (NULL: of all).
 * Called before the table job_node forgets the job's nodes. 0 or -errno. */
int node_store__drop(struct index *ix, const struct node_job *j, const struct string_list *but);
/* Stores rows of the profile: those within the job's time, on its nodes, that are young enough and
 * possible. 0 or -errno. */
int node_store__add(struct index *ix, const struct node_job *j, const struct node_rows *rows);
/* Deletes the rows of before NODE_ROW_DAYS days. 0 or -errno. */
int node_store__expire(struct index *ix);
/* The oldest time of which there are rows: Unix time / NODE_ROW_S. */
int64_t node_store__oldest(void);

#endif
