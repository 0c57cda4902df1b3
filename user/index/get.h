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

/* The job that a user names: 7, 7_2, 7+1 or a SLUID, in all clusters or one (NULL: all), as far as
 * the viewer may see it. Runs of one job that Slurm began again are a row each, the last one first.
 * 0, also where there is none; -errno, logged. row_list__free() in all cases. */
int index__find(struct index *ix, const struct jobspec *job, const char *cluster,
		const struct viewer *v, struct row_list *out);
/* The tasks of an array by cluster and number, the last run of each, without findings and nodes.
 * The same. */
int index__find_array(struct index *ix, uint32_t array, const char *cluster, const struct viewer *v,
		      struct row_list *out);

/* For the files of this room: "SELECT j.cluster, ..., j.id FROM job j" and the rest, all columns in
 * the order of index_infos; NULL: no memory. And the cells of such a row. */
char *stored_row__select(const char *rest);
void stored_row__take(struct row *r, const struct db_value *v);

#endif
