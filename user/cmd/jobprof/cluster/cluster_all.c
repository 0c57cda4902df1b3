// SPDX-License-Identifier: GPL-2.0-only
/* Bursts that were not kept are read once more, and each is in the cluster of its nearest one. */
#include "cmd/jobprof/cluster/cluster_all.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BLOCK (1u << 18) /* bursts that are classified at once */

struct labelling {
	const struct burst_clusters *c;
	void (*fn)(void *arg, const struct burst_row *row, unsigned label);
	void *arg;
	size_t n; /* so far; of those that were not kept: in the block */
	struct burst_row *rows;
	double *v;
	unsigned *labels;
};

static int put_kept(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;

	l->fn(l->arg, row, l->c->labels[l->n++]);
	return 0;
}

static int end_block(struct labelling *l)
{
	enum analysis_status s = burst_model__classify(&l->c->model, l->v, l->n, l->labels);

	for (size_t i = 0; s == ANALYSIS_OK && i < l->n; i++)
		l->fn(l->arg, &l->rows[i], l->labels[i]);
	l->n = 0;
	return s == ANALYSIS_OK ? 0 : -ENOMEM;
}

static int put_read(void *arg, const struct burst_row *row)
{
	struct labelling *l = arg;
	const struct burst_model *m = &l->c->model;
	const struct burst_times t = {row->run, row->wall, row->on_cpu, row->gap};

	for (unsigned d = 0; d < m->dims; d++)
		l->v[l->n * m->dims + d] = burst_times__feature(&t, m->by[d]);
	l->rows[l->n++] = *row;
	return l->n == BLOCK ? end_block(l) : 0;
}

int cluster_all__each(const struct model_bursts *b, const struct burst_clusters *c,
		      void (*fn)(void *arg, const struct burst_row *row, unsigned label), void *arg)
{
	struct labelling l = {.c = c, .fn = fn, .arg = arg};
	_cleanup_free_ struct burst_row *rows = NULL;
	_cleanup_free_ double *v = NULL;
	_cleanup_free_ unsigned *labels = NULL;
	int err;

	if (b->n == b->all)
		return model_bursts__each(b, put_kept, &l);
	rows = l.rows = malloc(BLOCK * sizeof(*rows));
	v = l.v = malloc(BLOCK * c->model.dims * sizeof(*v));
	labels = l.labels = malloc(BLOCK * sizeof(*labels));
	if (!rows || !v || !labels)
		return -ENOMEM;
	err = model_bursts__each(b, put_read, &l);
	return err ? err : end_block(&l);
}

struct settling {
	struct burst_sums *sums;
	size_t unused;
};

static void add_burst(void *arg, const struct burst_row *row, unsigned label)
{
	struct settling *s = arg;

	if (label == CLUSTER_UNUSED)
		s->unused++;
	else
		burst_sums__add(&s->sums[label],
				&(struct burst_times){row->run, row->wall, row->on_cpu, row->gap});
}

int cluster_all__settle(const struct model_bursts *b, struct burst_clusters *c)
{
	struct settling s = {0};
	int err;

	if (b->n == b->all || c->verdict.status != ANALYSIS_OK)
		return 0;
	s.sums = calloc((size_t)c->k + 1, sizeof(*s.sums));
	err = s.sums ? cluster_all__each(b, c, add_burst, &s) : -ENOMEM;
	if (!err) {
		c->unused = s.unused;
		burst_clusters__settle(c, s.sums);
	}
	free(s.sums);
	return err;
}
