/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of clusters that stay from window to window. */
#include "analysis/job/reduce_track.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

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
