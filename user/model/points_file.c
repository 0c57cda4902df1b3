// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the points of a file: of all its nodes, or of those whose bursts were read. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "hdf5/hdf5.h"
#include "jobfile/select.h"
#include "model/bursts.h"
#include "model/points.h"
#include "model/symbols.h"

/* A node-step of the file that is read. */
typedef int node_visit(void *ctx, const struct reader_node *n, unsigned number);

/* Calls visit() for each chosen node-step, which are numbered from 0. 0; -ESRCH: there is no such
 * step; or as reader__open(), reader__node() and visit(). */
static int visit_nodes(const char *path, const struct selection *sel, node_visit *visit, void *ctx)
{
	_cleanup_free_ struct node_ref *refs = NULL;
	struct reader *r = NULL;
	unsigned n = 0;
	int err = reader__open(&r, path);

	if (err)
		return err;
	err = select__nodes(r, sel, &refs, &n);
	if (!err && !n && sel->nsteps)
		err = -ESRCH;
	for (unsigned i = 0; !err && i < n; i++) {
		struct reader_node *node = NULL;

		err = reader__node(r, refs[i].step, refs[i].node, NULL, &node);
		if (!err)
			err = visit(ctx, node, i);
		reader_node__free(node);
	}
	reader__free(r);
	return err;
}

struct reading {
	struct points *p;
	struct symbols *symbols;
	bool found;
	/* of nodes that bursts were read of */
	const struct model_bursts *b;
	unsigned *nodes, next;
};

/* ---- all nodes */

static int read_named(void *ctx, const struct reader_node *n, unsigned number)
{
	struct reading *w = ctx;
	int err = points__read(w->p, n, number);

	if (err)
		return err == -ENOENT ? 0 : err;
	w->found = true;
	if (!w->p->nregions)
		err = points__read_bursts(w->p, n, number);
	return err ? err : points__name(w->p, n, number, w->symbols);
}

int points__read_file(struct points *p, const char *path, const struct selection *sel)
{
	struct reading w = {.p = p, .symbols = symbols__new()};
	int err = w.symbols ? visit_nodes(path, sel, read_named, &w) : -ENOMEM;

	symbols__free(w.symbols);
	if (err)
		return err;
	return w.found ? points__fill_gaps(p) : -ENODATA;
}

/* ---- nodes that bursts were read of */

static bool clock_was_set(const struct reader_node *n)
{
	double steps;

	return node__number(n, "Clock Steps", &steps) && steps > 0;
}

/* Samples get the times of bursts. */
static void shift_times(struct points *p, const struct model_bursts *b, unsigned node)
{
	double shift = (p->clock_ns - b->start_ns) / 1e9 - b->first_s;

	for (size_t i = p->npoints; i-- && p->points[i].thread.node == node;)
		p->points[i].time_s += shift;
}

/* The places of bursts come in the order of the nodes. */
static void number_places(struct reading *w, const struct reader_node *n, unsigned number)
{
	const struct model_bursts *b = w->b;

	while (w->next < b->nplaces && !strcmp(b->places[w->next].step, n->step) &&
	       !strcmp(b->places[w->next].node, n->name))
		w->nodes[w->next++] = number;
}

static int read_samples(void *ctx, const struct reader_node *n, unsigned number)
{
	struct reading *w = ctx;
	struct points *p = w->p;
	const size_t before = p->npoints;
	int err;

	number_places(w, n, number);
	p->clock_ns = NAN;
	err = points__read_samples(p, n, number);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (!isfinite(p->clock_ns) || clock_was_set(n)) {
		p->npoints = before; /* the clock does not tell in which bursts they are */
		return 0;
	}
	shift_times(p, w->b, number);
	return points__name(p, n, number, w->symbols);
}

int points__read_samples_of(struct points *p, const struct model_bursts *b, unsigned *nodes)
{
	static const struct selection all = {0};
	struct reading w = {.p = p, .symbols = symbols__new(), .b = b, .nodes = nodes};
	int err;

	for (unsigned i = 0; i < b->nplaces; i++)
		nodes[i] = POINTS_NO_NODE;
	err = w.symbols ? visit_nodes(b->path, b->sel ? b->sel : &all, read_samples, &w) : -ENOMEM;
	symbols__free(w.symbols);
	return err;
}

static int read_regions(void *ctx, const struct reader_node *n, unsigned number)
{
	struct reading *w = ctx;
	unsigned place = model_bursts__place(w->b, n->step, n->name);
	int err;

	(void)number;
	if (place == w->b->nplaces)
		return 0;
	if (clock_was_set(n))
		return node__series(n, "Regions") ? -ESTALE : 0;
	err = points__read(w->p, n, place);
	return err == -ENOENT ? 0 : err;
}

int points__read_regions_of(struct points *p, const struct model_bursts *b)
{
	static const struct selection all = {0};
	struct reading w = {.p = p, .b = b};
	int err = visit_nodes(b->path, &all, read_regions, &w);

	return err ? err : p->nregions ? 0 : -ENXIO;
}
