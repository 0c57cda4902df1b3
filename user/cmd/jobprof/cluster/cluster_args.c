// SPDX-License-Identifier: GPL-2.0-only
/* Options of cluster and track, and the pieces that bursts are cut into. */
#include "cmd/jobprof/cluster/cluster_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "model/model.h"

#define WINDOWS_MAX 1000

void cluster_args__init(struct cluster_args *a)
{
	*a = (struct cluster_args){.request = {.by = {FEATURE_RUN, FEATURE_GAP}, .dims = 2}};
}

static int find_feature(const char *word, size_t len)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		if (strlen(burst_features[f].word) == len &&
		    !strncmp(burst_features[f].word, word, len))
			return f;
	return -1;
}

static int take_by(struct cluster_request *q, const char *list)
{
	q->dims = 0;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int f = find_feature(p, len);

		if (f < 0 || q->dims == CLUSTER_MAX_DIMS) {
			log_error("--by %s: it is a list of up to %d of run, gap, duration, share",
				  list, CLUSTER_MAX_DIMS);
			return 2;
		}
		q->by[q->dims++] = (enum burst_feature)f;
		p += len;
		if (!*p)
			return 0;
	}
}

static int take_eps(struct cluster_request *q, const char *arg)
{
	if (!parse_double(arg, &q->eps) && q->eps >= 1e-6 && q->eps <= 1)
		return 0;
	log_error("--eps %s: it is a number from 0.000001 to 1", arg);
	return 2;
}

static int take_min_pts(struct cluster_request *q, const char *arg)
{
	uint32_t n;

	if (parse_u32(arg, &n) || n < 1 || n > 1000000) {
		log_error("--min-pts %s: it is a number from 1 to 1000000", arg);
		return 2;
	}
	q->min_pts = n;
	return 0;
}

int cluster_args__take(struct cluster_args *a, int letter, const char *arg)
{
	switch (letter) {
	case OPT_BY:
		return take_by(&a->request, arg);
	case OPT_EPS:
		return take_eps(&a->request, arg);
	case OPT_MIN_PTS:
		return take_min_pts(&a->request, arg);
	default:
		return -1;
	}
}

int cluster_args__window(struct cluster_args *a, const char *arg)
{
	if (!parse_double(arg, &a->window) && a->window >= 0.001)
		return 0;
	log_error("--window %s: it is a number of seconds, 0.001 or more", arg);
	return 2;
}

void cluster_args__print_by(FILE *out)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		fprintf(out, "%s ", burst_features[f].word);
}

struct burst_columns cluster_args__columns(const struct model_bursts *b)
{
	return (struct burst_columns){b->run,	 b->wall, b->on_cpu,  b->gap,
				      b->thread, b->n,	  b->nthreads};
}

int cluster_args__cannot(const char *path, int err)
{
	if (err == -ENODATA)
		log_error("%s: there are no bursts: they are recorded where the family burst is "
			  "asked for, as by \"jobprof run --series all,burst\"",
			  path);
	else if (err == -ERANGE)
		log_error("%s: no burst was as long as BurstMin of jobprof.conf: only such ones "
			  "can be compared",
			  path);
	else if (err == -ENOMEM)
		log_error("%s: no memory", path);
	else
		log_error("%s: %s", path, model_file__strerror(err));
	return 1;
}

/* ---- pieces */

static int grow(struct cluster_pieces *p)
{
	struct burst_piece *v = realloc(p->v, (p->n + 1) * sizeof(*v));
	double **columns;
	char **labels;

	if (v)
		p->v = v;
	columns = realloc(p->columns, (p->n + 1) * sizeof(*columns));
	if (columns)
		p->columns = columns;
	labels = realloc(p->labels, (p->n + 1) * sizeof(*labels));
	if (labels)
		p->labels = labels;
	return v && columns && labels ? 0 : -ENOMEM;
}

/* Copies what ends in [from, to): four columns, one behind the other, then threads. */
static size_t cut(const struct model_bursts *b, double from, double to, double *columns,
		  unsigned *thread)
{
	const double *const of[] = {b->run, b->wall, b->on_cpu, b->gap};
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->end[i] < from || b->end[i] >= to)
			continue;
		for (size_t c = 0; c < 4; c++)
			columns[c * b->n + n] = of[c][i];
		thread[n++] = b->thread[i];
	}
	return n;
}

int cluster_pieces__add(struct cluster_pieces *p, const struct model_bursts *b,
			const struct cluster_request *q, double from, double to, const char *label)
{
	double *columns = malloc((b->n + 1) * 4 * sizeof(*columns));
	unsigned *thread = malloc((b->n + 1) * sizeof(*thread));
	struct burst_columns cols;
	char *name = strdup(label);
	enum analysis_status s;

	if (!columns || !thread || !name || grow(p)) {
		free(columns);
		free(thread);
		free(name);
		return -ENOMEM;
	}
	cols = (struct burst_columns){columns,
				      columns + b->n,
				      columns + 2 * b->n,
				      columns + 3 * b->n,
				      thread,
				      cut(b, from, to, columns, thread),
				      b->nthreads};
	p->v[p->n] = (struct burst_piece){.run = columns};
	p->columns[p->n] = columns;
	p->labels[p->n] = name;
	s = burst_clusters__of(&p->v[p->n++].c, &cols, q);
	free(thread);
	return s == ANALYSIS_NO_MEMORY ? -ENOMEM : 0;
}

int cluster_pieces__windows(struct cluster_pieces *p, const struct model_bursts *b,
			    const struct cluster_args *a)
{
	double last = 0;
	int err = 0;

	for (size_t i = 0; i < b->n; i++)
		last = fmax(last, b->end[i]);
	if (last / a->window > WINDOWS_MAX)
		return -E2BIG;
	for (double from = 0; !err && from <= last; from += a->window) {
		char label[64];

		snprintf(label, sizeof(label), "%g s to %g s", from, from + a->window);
		err = cluster_pieces__add(p, b, &a->request, from, from + a->window, label);
	}
	return err;
}

void cluster_pieces__free(struct cluster_pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		burst_clusters__free(&p->v[i].c);
		free(p->v[i].names);
		free(p->columns[i]);
		free(p->labels[i]);
	}
	free(p->v);
	free(p->columns);
	free(p->labels);
}
