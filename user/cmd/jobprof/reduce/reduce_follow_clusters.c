/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof reduce --follow --clusters: the bursts of a window are clustered at the root, and every
 * process says of all of its own in which cluster they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/reduce/reduce_follow.h"
#include "cmd/jobprof/reduce/reduce_tree.h"

int follow_clusters__rows(struct follow *f)
{
	int err;

	free(f->features);
	err = feed__window(&f->feed, f->end_ns, f->host, &f->result.rows, &f->features,
			   &f->nfeatures);
	f->result.rows.tables = f->result.rows.places.n;
	if (!err && f->feed.lost) {
		log_warn("%llu bursts are not in this window: jobprofd or this process has kept no "
			 "more of them",
			 (unsigned long long)f->feed.lost);
		err = reduction__file(&f->result.rows, f->w->list, f->world->size, f->world->rank,
				      true);
	}
	return err;
}

/* In process 0: the clusters of this window, with their numbers. */
static void make_model(struct follow *f)
{
	struct reduce_result *r = &f->result;

	reduction__order(&r->rows);
	r->clustered = reduce_model__of(&r->model, &r->rows);
	if (r->clustered != ANALYSIS_NO_MEMORY &&
	    reduce_track__next(&f->track, &r->model) != ANALYSIS_OK)
		r->clustered = ANALYSIS_NO_MEMORY;
}

static int share_model(struct follow *f)
{
	struct message m = {0};
	int err;

	if (!f->world->rank) {
		make_model(f);
		reduce_model__put(&m, &f->result.model);
	}
	err = reduce_tree__down(f->world, &m);
	if (!err && f->world->rank)
		err = reduce_model__take(&m, &f->result.model);
	message__free(&m);
	return err;
}

/* Those of this window that did not come. */
static int add_lost(struct follow *f)
{
	int column = reduction__column(&f->result.clusters, REDUCE_LOST, "");
	const struct reduction_table t = {"", "", &column, 1, 0};
	const double lost = (double)f->feed.lost;

	if (column < 0)
		return column;
	reduction__sums(&f->result.clusters, &t, &lost);
	f->feed.lost = 0;
	return 0;
}

static int classify(struct follow *f)
{
	struct reduction *out = &f->result.clusters;
	_cleanup_free_ unsigned *labels = malloc((f->nfeatures + 1) * sizeof(*labels));
	int err = labels ? reduction__init(out, f->w->series, REDUCTION_SEED, 0) : -ENOMEM;

	out->processes = 1;
	if (!err && burst_model__classify(&f->result.model, f->features, f->nfeatures, labels) !=
			    ANALYSIS_OK)
		err = -ENOMEM;
	if (!err)
		err = reduction__file(out, f->w->list, f->world->size, f->world->rank, false);
	if (!err && f->feed.lost)
		err = add_lost(f);
	for (size_t i = 0; !err && i < f->nfeatures; i++)
		if (labels[i] != CLUSTER_UNUSED)
			err = reduce_model__add(out, f->features + MODEL_DIMS * i, labels[i]);
	return err;
}

int follow_clusters__reduce(struct reduce_work *w, struct follow *f)
{
	int err = share_model(f);

	if (!err)
		err = classify(f);
	if (!err)
		err = reduce_tree__up(w, f->world, &f->result.clusters);
	if (!err)
		reduction__cover(&f->result.rows, &f->result.clusters);
	f->result.rows.cpu_s += f->result.clusters.cpu_s;
	return err;
}
