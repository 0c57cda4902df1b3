/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of bursts as text, JSON and SVG, and for the page in a browser. */
#ifndef JP_VIEW_CLUSTER_H
#define JP_VIEW_CLUSTER_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/cluster/burst_track.h"
#include "analysis/cluster/cluster_code.h"
#include "analysis/counters/burst_counters.h"
#include "analysis/counters/counter_metrics.h"
#include "model/bursts.h"
#include "view/report/report_text.h"

/* What is shown: a file's bursts and their clusters. */
struct cluster_view {
	const char *path;
	const char *title; /* program and job; "": not known */
	const struct model_bursts *bursts;
	const struct burst_clusters *clusters;
	const struct cluster_request *request;
	const struct burst_counter *counters; /* for each cluster, noise first, the events of its
						 bursts; NULL: there are none */
	/* code of each cluster, noise first, and of each burst in no cluster; NULL: there are no
	 * samples
	 */
	const struct burst_code *codes, *single_codes;
	const char *of; /* "region" or "code": what `regions` are */
	char *const
		*regions; /* names of 1..k, which are regions or code; NULL: they are clusters */
};

/* The table, and a line over time of each task. */
void cluster_view__print(const struct cluster_view *v, unsigned width, FILE *out);
/* A hint of one line where clusters have little of the threads' time. NULL: there is none. */
const char *cluster_view__hint(const struct cluster_view *v);
json_t *cluster_view__json(const struct cluster_view *v);
/* A scatter plot of the first two features. */
void cluster_view__svg(const struct cluster_view *v, FILE *out);
/* A line per burst. */
void cluster_csv__head(const struct model_bursts *b, FILE *out);
void cluster_csv__row(const struct model_bursts *b, const struct burst_row *row, unsigned label,
		      FILE *out);
/* What the page draws: docs/report-json.md. NULL: no memory. */
json_t *cluster_view__page(const struct cluster_view *v);

/* A line per piece, and a table with a column per piece. */
void track_view__print(const struct burst_track *t, FILE *out);
json_t *track_view__json(const struct burst_track *t);

/* ---- for the files of the room */ /* What bursts of cluster k counted of event e. */
const struct burst_counter *cluster_counters__of(const struct cluster_view *v, unsigned k,
						 unsigned e);
/* The derived metrics of a cluster's totals. */
void cluster_counters__metrics(const struct cluster_view *v, unsigned k, struct counter_metrics *m);

#define CLUSTER_NAME 8

typedef char cluster_name[CLUSTER_NAME];
/* "A" ... "Z", "AA" ...; 0: "noise". */
const char *cluster_name__of(unsigned k, cluster_name buf);
/* One character for a cluster; '+' beyond the alphabets, '.' for noise. */
char cluster_name__letter(unsigned k);
/* "310 us", "12.1 ms", "1.5 s". */
typedef char cluster_time[24];
const char *cluster_time__of(double s, cluster_time buf);

/* Lines over time, one for each place: a character for the cluster with most run time, ' ' where
 * there was no burst. */
struct cluster_lines {
	const struct cluster_view *v;
	unsigned width;
	double end;	       /* s; lines begin at 0 */
	size_t *order, *start; /* bursts by place */
	double *room;
	char *line;
};

/* false: no memory. cluster_lines__close() in both cases. */
bool cluster_lines__open(struct cluster_lines *l, const struct cluster_view *v, unsigned width);
/* Returns the line of a place, which is valid until the next call. */
const char *cluster_lines__of(struct cluster_lines *l, unsigned place);
void cluster_lines__close(struct cluster_lines *l);

#endif
