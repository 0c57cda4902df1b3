/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes clusters of a sample of bursts, and applies them to other bursts. */
#include "analysis/job/reduce_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/reduce_track.h"
#include "base/cleanup.h"
#include "base/json.h"

/* ---- numbers of clusters that stay from window to window */

void reduce_track__free(struct reduce_track *t)
{
	free(t->v);
	free(t->run);
	free(t->labels);
	free(t->names);
	t->v = t->run = NULL;
	t->labels = t->names = NULL;
}

/* Copies the points of a model as they were before they were scaled. */
static bool take_points(struct reduce_track *t, const struct burst_model *m)
{
	t->n = m->n;
	t->k = m->k;
	t->v = malloc((m->n + 1) * MODEL_DIMS * sizeof(*t->v));
	t->run = malloc((m->n + 1) * sizeof(*t->run));
	t->labels = malloc((m->n + 1) * sizeof(*t->labels));
	t->names = calloc((size_t)m->k + 1, sizeof(*t->names));
	if (!t->v || !t->run || !t->labels || !t->names)
		return false;
	for (size_t i = 0; i < m->n; i++) {
		for (unsigned d = 0; d < MODEL_DIMS; d++)
			t->v[MODEL_DIMS * i + d] =
				pow(10, m->lo[d] + m->points[MODEL_DIMS * i + d] *
							   (m->hi[d] - m->lo[d]));
		t->run[i] = t->v[MODEL_DIMS * i];
	}
	memcpy(t->labels, m->labels, m->n * sizeof(*t->labels));
	return true;
}

static struct cluster_window window_of(const struct reduce_track *t)
{
	return (struct cluster_window){t->v, t->labels, t->run, t->n, MODEL_DIMS, t->k};
}

static enum analysis_status compare(struct reduce_track *t, struct reduce_track *now)
{
	const struct cluster_level level = cluster_level__after(t->unstable);
	const struct cluster_window a = window_of(t), b = window_of(now);
	struct cluster_comparison c = {0};
	enum analysis_status s = cluster__compare(&a, &b, level, &c);

	if (s != ANALYSIS_OK)
		return s;
	now->share_before = c.share_a;
	now->share = c.share_b;
	now->same = c.equivalent;
	now->least = level.threshold;
	cluster_comparison__free(&c);
	return cluster__identify(&a, &b, level.margin, t->names, now->names, &now->next);
}

static void count_windows(struct reduce_track *now, const struct reduce_track *before)
{
	now->streak = now->same ? before->streak + 1 : 1;
	now->unstable = now->streak >= CLUSTER_IN_A_ROW ? 0 : before->unstable + 1;
}

enum analysis_status reduce_track__next(struct reduce_track *t, struct burst_model *m)
{
	struct reduce_track now = {.next = t->next ? t->next : 1,
				   .share_before = NAN,
				   .share = NAN,
				   .least = CLUSTER_LEVEL.threshold};
	enum analysis_status s = ANALYSIS_OK;
	unsigned most = 0;

	if (!m->k) { /* the next one is compared with the window before */
		t->same = false;
		t->streak = 0;
		t->share = t->share_before = t->least = NAN;
		return s;
	}
	s = take_points(&now, m) ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
	if (s == ANALYSIS_OK && t->k)
		s = compare(t, &now);
	for (unsigned k = 1; s == ANALYSIS_OK && k <= m->k; k++) {
		if (!now.names[k])
			now.names[k] = now.next++;
		most = now.names[k] > most ? now.names[k] : most;
	}
	for (size_t i = 0; s == ANALYSIS_OK && i < m->n; i++)
		m->labels[i] = now.names[m->labels[i]];
	if (s != ANALYSIS_OK) {
		reduce_track__free(&now);
		return s;
	}
	m->k = most;
	count_windows(&now, t);
	reduce_track__free(t);
	*t = now;
	return s;
}

json_t *reduce_track__json(const struct reduce_track *t)
{
	json_t *j = json_pack("{s:b, s:i}", "same", t->same, "in_a_row", (int)t->streak);

	JSON_NUMBERS(j, {"share_before", t->share_before}, {"share", t->share},
		     {"least_share", t->least});
	return j;
}

const char *const model_features[MODEL_DIMS] = {"RunTime", "Gap"};

static const struct burst_model model_of_bursts = {.by = {FEATURE_RUN, FEATURE_GAP},
						   .dims = MODEL_DIMS};

void reduce_model__column(char *name, size_t size, unsigned label, unsigned feature)
{
	snprintf(name, size, "%u/%s", label, model_features[feature]);
}

/* Moves the points that have all features to the front of v. Returns how many. */
static size_t keep_used(const struct burst_model *m, double *v, size_t n)
{
	_cleanup_free_ bool *used = malloc(n + 1);
	size_t kept = 0;

	if (!used)
		return 0;
	burst_model__filter(m, v, n, used);
	for (size_t i = 0; i < n; i++)
		if (used[i])
			memmove(v + MODEL_DIMS * kept++, v + MODEL_DIMS * i,
				MODEL_DIMS * sizeof(*v));
	return kept;
}

/* Sorts bursts in the order in which a job file has them: a burst at the border of two clusters
 * goes to one of them by this order. */
static int by_place(const void *a, const void *b)
{
	const struct reduction_item *x = *(const struct reduction_item *const *)a,
				    *y = *(const struct reduction_item *const *)b;
	int c = strverscmp(x->place, y->place);

	if (!c)
		c = strverscmp(x->table, y->table);
	return c ? c : (x->row > y->row) - (x->row < y->row);
}

/* The raw features of the sample; NULL: there is no memory. */
static double *sample_of(const struct burst_model *m, const struct reduction *r, size_t *n)
{
	double *v = calloc(r->nitems + 1, MODEL_DIMS * sizeof(*v));
	_cleanup_free_ const struct reduction_item **items =
		malloc((r->nitems + 1) * sizeof(void *));

	*n = 0;
	if (!v || !items) {
		free(v);
		return NULL;
	}
	for (unsigned i = 0; i < r->nitems; i++)
		items[i] = &r->items[i];
	qsort(items, r->nitems, sizeof(void *), by_place);
	for (unsigned d = 0; d < MODEL_DIMS; d++) {
		int at = reduction__find(r, model_features[d]);

		for (unsigned i = 0; i < r->nitems; i++)
			v[MODEL_DIMS * i + d] = at < 0 || (unsigned)at >= items[i]->nvalues
							? NAN
							: items[i]->values[at];
	}
	burst_model__know_gaps(m, v, r->nitems);
	*n = keep_used(m, v, r->nitems);
	return v;
}

/* The extremes of all bursts count, not those of the sample. */
static void widen(struct burst_model *m, const struct reduction *r)
{
	for (unsigned d = 0; d < MODEL_DIMS; d++) {
		int at = reduction__find(r, model_features[d]);
		const struct moments *all = at < 0 ? NULL : &r->columns[at]->moments;

		if (all)
			burst_model__widen(m, d, all->min, all->max);
	}
}

/* The clusters with the most run time come first, and too many are none. */
static enum analysis_status name_clusters(struct burst_model *m, const double *v)
{
	_cleanup_free_ double *run = malloc((m->n + 1) * sizeof(*run));
	enum analysis_status status = run ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;

	for (size_t i = 0; run && i < m->n; i++)
		run[i] = v[MODEL_DIMS * i];
	if (run)
		status = cluster__relabel(m->labels, run, m->n, m->k);
	for (size_t i = 0; i < m->n; i++)
		m->labels[i] = m->labels[i] > MODEL_CLUSTERS ? 0 : m->labels[i];
	m->k = m->k > MODEL_CLUSTERS ? MODEL_CLUSTERS : m->k;
	return status;
}

enum analysis_status reduce_model__of(struct burst_model *m, const struct reduction *r)
{
	size_t n = 0;
	_cleanup_free_ double *v = NULL;
	enum analysis_status status;

	*m = model_of_bursts;
	v = sample_of(m, r, &n);
	m->n = n;
	m->min_pts = n < CLUSTER_FEW ? CLUSTER_FEW_MIN_PTS : CLUSTER_MIN_PTS;
	m->eps = CLUSTER_EPS;
	m->points = malloc((n + 1) * MODEL_DIMS * sizeof(*m->points));
	status = !v || !m->points ? ANALYSIS_NO_MEMORY
		 : n < m->min_pts ? ANALYSIS_INSUFFICIENT
				  : burst_model__range(m, v, n);
	if (status != ANALYSIS_OK) {
		m->n = 0;
		m->eps = NAN;
		return status;
	}
	m->eps = 0; /* by the distances of near points */
	widen(m, r);
	burst_model__scale(m, v, n, m->points);
	status = burst_model__find(m);
	return status == ANALYSIS_OK ? name_clusters(m, v) : status;
}

/* ---- as a message */

struct numbers {
	double lo[MODEL_DIMS], hi[MODEL_DIMS], eps;
	uint64_t min_pts, n, k;
};

void reduce_model__put(struct message *to, const struct burst_model *m)
{
	struct numbers x = {.eps = m->eps, .min_pts = m->min_pts, .n = m->n, .k = m->k};

	memcpy(x.lo, m->lo, sizeof(x.lo));
	memcpy(x.hi, m->hi, sizeof(x.hi));
	message__put(to, &x, sizeof(x));
	message__put(to, m->points, m->n * MODEL_DIMS * sizeof(*m->points));
	message__put(to, m->labels, m->n * sizeof(*m->labels));
}

int reduce_model__take(struct message *from, struct burst_model *m)
{
	const struct numbers *x = message__take(from, sizeof(*x));
	const double *points;
	const unsigned *labels;

	*m = model_of_bursts;
	if (!x || x->n > REDUCTION_K_MAX || x->k > MODEL_NAMES)
		return -EBADMSG;
	m->eps = x->eps;
	m->min_pts = x->min_pts;
	m->k = (unsigned)x->k;
	memcpy(m->lo, x->lo, sizeof(x->lo));
	memcpy(m->hi, x->hi, sizeof(x->hi));
	points = message__take(from, x->n * MODEL_DIMS * sizeof(*points));
	labels = message__take(from, x->n * sizeof(*labels));
	if (!points || !labels)
		return -EBADMSG;
	m->points = malloc((x->n + 1) * MODEL_DIMS * sizeof(*points));
	m->labels = malloc((x->n + 1) * sizeof(*labels));
	if (!m->points || !m->labels)
		return -ENOMEM;
	m->n = x->n;
	memcpy(m->points, points, m->n * MODEL_DIMS * sizeof(*points));
	memcpy(m->labels, labels, m->n * sizeof(*labels));
	for (uint64_t i = 0; i < m->n; i++)
		if (m->labels[i] > m->k)
			return -EBADMSG;
	return 0;
}

/* ---- all bursts */

int reduce_model__add(struct reduction *r, const double *v, unsigned label)
{
	int columns[MODEL_DIMS];
	const struct reduction_table t = {"", "", columns, MODEL_DIMS, 0};
	char name[40];

	for (unsigned f = 0; f < MODEL_DIMS; f++) {
		reduce_model__column(name, sizeof(name), label, f);
		columns[f] = reduction__column(r, name, "s");
		if (columns[f] < 0)
			return columns[f];
	}
	return reduction__row(r, &t, 0, v);
}
