/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of window after window: those that are alike have the same number. */
#ifndef JP_ANALYSIS_JOB_REDUCE_TRACK_H
#define JP_ANALYSIS_JOB_REDUCE_TRACK_H

#include <jansson.h>

#include "analysis/job/reduce_model.h"

struct reduce_track {
	/* The last window with clusters: points of its sample, raw, their run times and numbers. */
	double *v, *run;
	unsigned *labels, *names; /* of 0..k */
	size_t n;
	unsigned k;
	unsigned next;	   /* number of the next cluster that is new */
	unsigned unstable; /* windows since the run was stable, or began */
	/* The window that came last had these: */
	double share_before, share; /* of the run time of the window before and of this one, in
				     * clusters that overlap; NaN: there is none before */
	double least;		    /* of both, for the windows to be the same */
	bool same;
	unsigned streak; /* of windows that are the same, up to this one */
};

/* The next window's model, whose clusters get their numbers: m->k is the largest of them. */
enum analysis_status reduce_track__next(struct reduce_track *t, struct burst_model *m);
json_t *reduce_track__json(const struct reduce_track *t);
void reduce_track__free(struct reduce_track *t);

#endif
