/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of successive windows: those that are alike get the same number. */
#ifndef JP_ANALYSIS_JOB_REDUCE_TRACK_H
#define JP_ANALYSIS_JOB_REDUCE_TRACK_H

#include <jansson.h>

#include "analysis/job/reduce_model.h"

struct reduce_track {
	/* The last window with clusters: raw features of its sample's points, their run times, and
	 * the numbers of clusters. */
	double *v, *run;
	unsigned *labels, *names; /* of 0..k */
	size_t n;
	unsigned k;
	unsigned next;	   /* number of the next cluster that is new */
	unsigned unstable; /* windows since the run was stable, or began */
	/* The window that came last had these: */
	double share_before, share; /* parts of the run time of the window before, and of this one,
				       in clusters that overlap; NaN: there is no window before */
	double least;		    /* the least of both with which windows are the same */
	bool same;
	unsigned streak; /* number of windows in a row, up to this one, that are the same */
};

/* Takes the next window's model and numbers its clusters; m->k becomes the largest number. */
enum analysis_status reduce_track__next(struct reduce_track *t, struct burst_model *m);
json_t *reduce_track__json(const struct reduce_track *t);
void reduce_track__free(struct reduce_track *t);

#endif
