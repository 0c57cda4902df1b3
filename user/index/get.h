/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads jobs back as rows, with their findings and nodes. */
#ifndef JP_INDEX_GET_H
#define JP_INDEX_GET_H

#include "identity/jobspec.h"
#include "index/query.h"

struct row_list {
	struct row *v;
	unsigned n;
};
void row_list__free(struct row_list *l);
/* Where files alone know a job, or an array on one cluster, and are of several users: the first row
 * of another user than the first one's. Nobody can tell whose it is. NULL: it is one user's. */
const struct row *row_list__other_user(const struct row_list *l, bool is_array);

/* Finds the job that a user names, 7, 7_2, 7+1 or a SLUID, on all clusters or one (NULL: all), if
 * the viewer may see it. A job that Slurm began again has a row for each run, the last one first.
 * 0, also if there is none; -errno, logged. row_list__free() in all cases. */
int index__find(struct index *ix, const struct jobspec *job, const char *cluster,
		const struct viewer *v, struct row_list *out);
/* Finds the tasks of an array, sorted by cluster and number: the last run of each, without findings
 * and nodes. Returns as index__find(). */
int index__find_array(struct index *ix, uint32_t array, const char *cluster, const struct viewer *v,
		      struct row_list *out);

/* For the files of this room: makes "SELECT j.cluster, ..., j.id FROM job j" and the rest, with all
 * columns in the order of index_infos (NULL: no memory), and takes the cells of such a row (0 or
 * -ENOMEM). */
char *stored_row__select(const char *rest);
int stored_row__take(struct row *r, const struct db_value *v);

#endif
