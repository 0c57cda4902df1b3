// SPDX-License-Identifier: GPL-2.0-only
/* Options of cluster and track, and the pieces that bursts are cut into. */
#include "cmd/jobprof/cluster/cluster_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/order.h"
#include "base/cleanup.h"
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

int cluster_args__by(void *to, const struct opt *o, const char *list)
{
	struct cluster_args *a = to;
	struct cluster_request *q = &a->request;

	a->given = true;
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

int cluster_args__eps(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;
	struct cluster_request *q = &a->request;

	a->given = true;
	if (!parse_double(arg, &q->eps) && q->eps >= 1e-6 && q->eps <= 1)
		return 0;
	log_error("--eps %s: it is a number from 0.000001 to 1", arg);
	return 2;
}

int cluster_args__min_pts(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;
	uint32_t n;

	a->given = true;
	if (parse_u32(arg, &n) || n < 1 || n > 1000000) {
		log_error("--min-pts %s: it is a number from 1 to 1000000", arg);
		return 2;
	}
	a->request.min_pts = n;
	return 0;
}

int cluster_args__window(void *to, const struct opt *o, const char *arg)
{
	struct cluster_args *a = to;

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
	const bool whole = b->n == b->all;

	return (struct burst_columns){.run = b->run,
				      .wall = b->wall,
				      .on_cpu = b->on_cpu,
				      .gap = b->gap,
				      .thread = b->thread,
				      .n = b->n,
				      .nthreads = b->nthreads,
				      .least = whole ? NULL : b->least,
				      .most = whole ? NULL : b->most};
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
	else if (err == -ENOMSG)
		log_error("%s: it has no samples: see jobprof run --series all,burst,fold", path);
	else if (err == -EMSGSIZE)
		log_error("%s: it has more samples or bursts than are read for this: 1048576",
			  path);
	else if (err == -ENXIO)
		log_error("%s: its programs have named no region, or only waits: see jobprof run "
			  "--region, and "
			  "jobprof_region_begin in libjobprof(3)",
			  path);
	else if (err == -ESRCH)
		log_error("%s: it has no such step", path);
	else if (err == -ESTALE)
		log_error("%s: the clock was set during the step: which bursts were in which "
			  "region is not known",
			  path);
	else if (err == -ENOMEM)
		log_error("%s: no memory", path);
	else
		log_error("%s: %s", path, model_file__strerror(err));
	return 1;
}

/* ---- pieces */

static int grow_pieces(struct cluster_pieces *p)
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

struct burst_piece *cluster_pieces__new(struct cluster_pieces *p, const char *label,
					double *columns)
{
	char *name = strdup(label);

	if (!name || grow_pieces(p)) {
		free(name);
		return NULL;
	}
	p->v[p->n] = (struct burst_piece){.run = columns};
	p->columns[p->n] = columns;
	p->labels[p->n] = name;
	return &p->v[p->n++];
}

static int add_piece(struct cluster_pieces *p, const struct model_bursts *b, const size_t *at,
		     size_t n, const struct cluster_request *q, const char *label)
{
	double *columns = malloc((n + 1) * 4 * sizeof(*columns));
	unsigned *thread = malloc((n + 1) * sizeof(*thread));
	struct burst_piece *piece =
		columns && thread ? cluster_pieces__new(p, label, columns) : NULL;
	struct burst_columns cols;
	enum analysis_status s;

	if (!piece) {
		free(columns);
		free(thread);
		return -ENOMEM;
	}
	cut(b, at, n, columns, thread);
	cols = (struct burst_columns){.run = columns,
				      .wall = columns + n,
				      .on_cpu = columns + 2 * n,
				      .gap = columns + 3 * n,
				      .thread = thread,
				      .n = n,
				      .nthreads = b->nthreads};
	s = burst_clusters__of(&piece->c, &cols, q);
	free(thread);
	return s == ANALYSIS_NO_MEMORY ? -ENOMEM : 0;
}

int cluster_pieces__add(struct cluster_pieces *p, const struct model_bursts *b,
			const struct cluster_request *q, const char *label)
{
	return add_piece(p, b, NULL, b->n, q, label);
}

static int add_windows(struct cluster_pieces *p, const struct model_bursts *b,
		       const struct cluster_args *a, unsigned n, const unsigned *window)
{
	_cleanup_free_ size_t *order = malloc((b->n + 1) * sizeof(*order));
	_cleanup_free_ size_t *start = malloc(((size_t)n + 2) * sizeof(*start));
	int err = order && start ? 0 : -ENOMEM;

	if (!err)
		order__by_number(window, b->n, n, order, start);
	for (unsigned w = 0; !err && w < n; w++) {
		char label[64];

		snprintf(label, sizeof(label), "%g s to %g s", w * a->window, (w + 1) * a->window);
		err = add_piece(p, b, order + start[w], start[w + 1] - start[w], &a->request,
				label);
	}
	return err;
}

int cluster_pieces__windows(struct cluster_pieces *p, const struct model_bursts *b,
			    const struct cluster_args *a)
{
	_cleanup_free_ unsigned *window = malloc((b->n + 1) * sizeof(*window));
	unsigned n = 1;

	for (size_t i = 0; window && i < b->n; i++) {
		double w = fmax(floor(b->end[i] / a->window), 0);

		if (w >= WINDOWS_MAX)
			return -E2BIG;
		window[i] = (unsigned)w;
		n = window[i] >= n ? window[i] + 1 : n;
	}
	return window ? add_windows(p, b, a, n, window) : -ENOMEM;
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
