// SPDX-License-Identifier: GPL-2.0-only
/* Clusters of windows as jobprof reduce --follow has put them into a file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/jobprof/cluster/cluster_args.h"
#include "jobfile/stored.h"

#define NAMES_MAX 1000000.0

/* A row of the table is a cluster, the first one noise. */
static int take_table(struct burst_piece *p, const json_t *rows)
{
	const size_t n = json_array_size(rows);

	p->c.clusters = calloc(n + 1, sizeof(*p->c.clusters));
	p->names = calloc(n + 1, sizeof(*p->names));
	if (!p->c.clusters || !p->names)
		return -ENOMEM;
	p->c.k = n ? (unsigned)n - 1 : 0;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		const double name = json__number_of(row, "cluster"), of = json__number_of(row, "n");

		p->names[i] = name >= 0 && name <= NAMES_MAX ? (unsigned)name : 0;
		p->c.clusters[i] =
			(struct burst_cluster){.n = of >= 0 ? (size_t)of : 0,
					       .share = json__number_of(row, "share"),
					       .run = json__number_of(row, "RunTime_mean"),
					       .gap = json__number_of(row, "Gap_mean")};
		p->c.n += p->c.clusters[i].n;
	}
	return 0;
}

static void take_track(struct burst_piece *p, struct burst_track *t, const json_t *track)
{
	const double least = json__number_of(track, "least_share"),
		     streak = json__number_of(track, "in_a_row");

	p->share = json__number_of(track, "share");
	p->share_before = json__number_of(track, "share_before");
	p->equivalent = json__number_of(track, "same") > 0;
	p->streak = streak >= 0 && streak <= NAMES_MAX ? (unsigned)streak : 0;
	if (!isnan(least))
		t->level.threshold = least;
}

static int add_window(struct cluster_pieces *pieces, struct burst_track *t, const json_t *window,
		      double first_s)
{
	const bool ok =
		!strcmp(json__text_of(window, "status"), analysis_status__name(ANALYSIS_OK));
	struct burst_piece *p;
	char label[64];
	int err;

	snprintf(label, sizeof(label), "%.0f s to %.0f s",
		 json__number_of(window, "source_begin") - first_s,
		 json__number_of(window, "source_end") - first_s);
	p = cluster_pieces__new(pieces, label, NULL);
	if (!p)
		return -ENOMEM;
	p->c.verdict = ok ? (struct analysis_verdict){ANALYSIS_OK, ""}
			  : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "too_few_bursts"};
	err = take_table(p, json_object_get(window, "table"));
	take_track(p, t, json_object_get(window, "track"));
	for (unsigned k = 1; !err && k <= p->c.k; k++)
		t->names = p->names[k] > t->names ? p->names[k] : t->names;
	pieces->all += p->c.n;
	return err;
}

static int take_windows(struct cluster_pieces *p, struct burst_track *t, json_t *windows)
{
	double first_s = NAN;
	const char *key;
	json_t *one;
	int err = 0;

	json_object_foreach(windows, key, one)
	{
		if (err || !json_object_get(one, "track"))
			continue;
		if (isnan(first_s))
			first_s = json__number_of(one, "source_begin");
		err = add_window(p, t, one, first_s);
	}
	p->kept = p->all;
	t->stable = 0;
	while (t->stable < p->n && p->v[t->stable].streak < CLUSTER_IN_A_ROW)
		t->stable++;
	return !err && !p->n ? -ENODATA : err;
}

int track_stored__read(struct cluster_pieces *p, struct burst_track *t, const char *path)
{
	struct reader *r = NULL;
	json_t *windows;
	int err = reader__open_results(&r, path);

	*t = (struct burst_track){.level = CLUSTER_LEVEL};
	if (err)
		return err;
	windows = stored__read(r, "clusters", "model");
	err = take_windows(p, t, windows);
	json_decref(windows);
	reader__free(r);
	return err;
}
