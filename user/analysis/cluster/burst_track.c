// SPDX-License-Identifier: GPL-2.0-or-later
/* Cuts the bursts of files into pieces. Each cluster of a piece gets the name of the most similar
 * cluster of the piece before. */
#include "analysis/cluster/burst_track.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/room.h"
#include "jobfile/stored.h"
#include "model/bursts.h"

#define WINDOWS_MAX 1000

/* ---- pieces */

/* Copies bursts at[0..n), all of them where at is NULL: four columns, one behind the other, then
 * threads. */
static void cut(const struct model_bursts *b, const size_t *at, size_t n, double *columns,
		unsigned *thread)
{
	const double *const of[] = {b->run, b->wall, b->on_cpu, b->gap};

	for (size_t i = 0; i < n; i++) {
		size_t from = at ? at[i] : i;

		for (size_t c = 0; c < 4; c++)
			columns[c * n + i] = of[c][from];
		thread[i] = b->thread[from];
	}
}

/* run is the piece's. NULL: there is no memory, and run is free. */
static struct burst_piece *new_piece(struct burst_track *t, const char *label, double *run)
{
	char *name = strdup(label);

	if (!name || room__grow(&t->v, t->n, 1, sizeof(*t->v))) {
		free(name);
		free(run);
		return NULL;
	}
	t->v[t->n] = (struct burst_piece){.label = name, .run = run};
	return &t->v[t->n++];
}

static int add_piece(struct burst_track *t, const struct model_bursts *b, const size_t *at,
		     size_t n, const struct cluster_request *q, const char *label)
{
	double *columns = malloc((n + 1) * 4 * sizeof(*columns));
	_cleanup_free_ unsigned *thread = malloc((n + 1) * sizeof(*thread));
	struct burst_piece *piece;
	struct burst_columns cols;

	if (!columns || !thread) {
		free(columns);
		return -ENOMEM;
	}
	cut(b, at, n, columns, thread);
	piece = new_piece(t, label, columns);
	if (!piece)
		return -ENOMEM;
	cols = (struct burst_columns){.run = columns,
				      .wall = columns + n,
				      .on_cpu = columns + 2 * n,
				      .gap = columns + 3 * n,
				      .thread = thread,
				      .n = n,
				      .nthreads = b->nthreads};
	return burst_clusters__of(&piece->c, &cols, q) == ANALYSIS_NO_MEMORY ? -ENOMEM : 0;
}

int burst_track__add(struct burst_track *t, const struct model_bursts *b,
		     const struct cluster_request *q, const char *label)
{
	return add_piece(t, b, NULL, b->n, q, label);
}

static int add_windows(struct burst_track *t, const struct model_bursts *b,
		       const struct cluster_request *q, double window_s, unsigned n,
		       const unsigned *window)
{
	_cleanup_free_ size_t *order = malloc((b->n + 1) * sizeof(*order));
	_cleanup_free_ size_t *start = malloc(((size_t)n + 2) * sizeof(*start));
	int err = order && start ? 0 : -ENOMEM;

	if (!err)
		order__by_number(window, b->n, n, order, start);
	for (unsigned w = 0; !err && w < n; w++) {
		char label[64];

		snprintf(label, sizeof(label), "%g s to %g s", w * window_s, (w + 1) * window_s);
		err = add_piece(t, b, order + start[w], start[w + 1] - start[w], q, label);
	}
	return err;
}

int burst_track__windows(struct burst_track *t, const struct model_bursts *b,
			 const struct cluster_request *q, double window_s)
{
	_cleanup_free_ unsigned *window = malloc((b->n + 1) * sizeof(*window));
	unsigned n = 1;

	for (size_t i = 0; window && i < b->n; i++) {
		double w = fmax(floor(b->end[i] / window_s), 0);

		if (w >= WINDOWS_MAX)
			return -E2BIG;
		window[i] = (unsigned)w;
		n = window[i] >= n ? window[i] + 1 : n;
	}
	return window ? add_windows(t, b, q, window_s, n, window) : -ENOMEM;
}

void burst_track__free(struct burst_track *t)
{
	for (size_t i = 0; i < t->n; i++) {
		burst_clusters__free(&t->v[i].c);
		free(t->v[i].names);
		free(t->v[i].run);
		free(t->v[i].label);
	}
	free(t->v);
}

/* ---- clusters of windows as jobprof reduce --follow has put them into a file */

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

static int add_window(struct burst_track *t, const json_t *window, double first_s)
{
	const bool ok =
		!strcmp(json__text_of(window, "status"), analysis_status__name(ANALYSIS_OK));
	struct burst_piece *p;
	char label[64];
	int err;

	snprintf(label, sizeof(label), "%.0f s to %.0f s",
		 json__number_of(window, "source_begin") - first_s,
		 json__number_of(window, "source_end") - first_s);
	p = new_piece(t, label, NULL);
	if (!p)
		return -ENOMEM;
	p->c.verdict = ok ? (struct analysis_verdict){ANALYSIS_OK, ""}
			  : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "too_few_bursts"};
	err = take_table(p, json_object_get(window, "table"));
	take_track(p, t, json_object_get(window, "track"));
	for (unsigned k = 1; !err && k <= p->c.k; k++)
		t->names = p->names[k] > t->names ? p->names[k] : t->names;
	t->all += p->c.n;
	return err;
}

static int take_windows(struct burst_track *t, json_t *windows)
{
	double first_s = NAN;
	const char *key;
	json_t *one;
	int err = 0;

	json_object_foreach (windows, key, one) {
		if (err || !json_object_get(one, "track"))
			continue;
		if (isnan(first_s))
			first_s = json__number_of(one, "source_begin");
		err = add_window(t, one, first_s);
	}
	t->kept = t->all;
	t->stable = 0;
	while (t->stable < t->n && t->v[t->stable].streak < CLUSTER_IN_A_ROW)
		t->stable++;
	return !err && !t->n ? -ENODATA : err;
}

int burst_track__stored(struct burst_track *t, const char *path)
{
	struct reader *r = NULL;
	json_t *windows;
	int err = reader__open_results(&r, path);

	t->level = CLUSTER_LEVEL;
	if (err)
		return err;
	windows = stored__read(r, "clusters", "model");
	err = take_windows(t, windows);
	json_decref(windows);
	reader__free(r);
	return err;
}

/* ---- what pieces have of the ones before */

/* The bursts of a piece that were used, one after the other. */
struct compact {
	double *v, *dur;
	unsigned *labels;
	struct cluster_window w;
};

static void free_compact(struct compact *c)
{
	free(c->v);
	free(c->dur);
	free(c->labels);
	memset(c, 0, sizeof(*c));
}

static enum analysis_status make_compact(struct compact *to, const struct burst_piece *p,
					 unsigned dims)
{
	const struct burst_clusters *c = &p->c;
	size_t n = 0;

	to->v = malloc((c->n + 1) * dims * sizeof(*to->v));
	to->dur = malloc((c->n + 1) * sizeof(*to->dur));
	to->labels = malloc((c->n + 1) * sizeof(*to->labels));
	if (!to->v || !to->dur || !to->labels)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; c->k && i < c->n; i++) {
		if (c->labels[i] == CLUSTER_UNUSED)
			continue;
		memcpy(&to->v[n * dims], &c->v[i * dims], dims * sizeof(double));
		to->dur[n] = p->run[i];
		to->labels[n++] = c->labels[i];
	}
	to->w = (struct cluster_window){to->v, to->labels, to->dur, n, dims, c->k};
	return ANALYSIS_OK;
}

static enum analysis_status compare(struct burst_track *t, const struct compact *a,
				    const struct compact *b, const unsigned *names_a,
				    struct burst_piece *p)
{
	struct cluster_comparison c = {0};
	enum analysis_status s = cluster__compare(&a->w, &b->w, t->level, &c);
	unsigned next = t->names + 1;

	if (s != ANALYSIS_OK)
		return s;
	p->share_before = c.share_a;
	p->share = c.share_b;
	p->equivalent = c.equivalent && a->w.k && b->w.k;
	cluster_comparison__free(&c);
	s = cluster__identify(&a->w, &b->w, t->level.margin, names_a, p->names, &next);
	t->names = next - 1;
	return s;
}

static enum analysis_status count_streaks(struct burst_track *t)
{
	_cleanup_free_ bool *equivalent = calloc(t->n, sizeof(*equivalent));
	_cleanup_free_ unsigned *streak = calloc(t->n, sizeof(*streak));

	if (!equivalent || !streak)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 1; i < t->n; i++)
		equivalent[i - 1] = t->v[i].equivalent;
	t->stable = cluster__streaks(equivalent, t->n, CLUSTER_IN_A_ROW, streak);
	for (size_t i = 0; i < t->n; i++)
		t->v[i].streak = streak[i];
	return ANALYSIS_OK;
}

enum analysis_status burst_track__compare(struct burst_track *t, unsigned dims)
{
	struct compact before = {0}, now = {0};
	enum analysis_status s = t->n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
	struct burst_piece *p = t->v;

	t->level = CLUSTER_LEVEL;
	for (size_t i = 0; s == ANALYSIS_OK && i < t->n; i++) {
		p[i].names = calloc((size_t)p[i].c.k + 1, sizeof(*p[i].names));
		p[i].share = p[i].share_before = NAN;
		s = p[i].names ? make_compact(&now, &p[i], dims) : ANALYSIS_NO_MEMORY;
		if (s == ANALYSIS_OK && i)
			s = compare(t, &before, &now, p[i - 1].names, &p[i]);
		for (unsigned k = 1; s == ANALYSIS_OK && !i && k <= p[i].c.k; k++)
			p[i].names[k] = ++t->names;
		free_compact(&before);
		before = now;
		memset(&now, 0, sizeof(now));
	}
	free_compact(&before);
	free_compact(&now);
	return s == ANALYSIS_OK ? count_streaks(t) : s;
}
