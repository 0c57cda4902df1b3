/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file holds, as `jobprof list` and `sh5util -L` name it: steps, nodes, series and tables.
 */
#include "model/contents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "hdf5/cursor.h"
#include "hdf5/table_columns.h"
#include "schema/describe.h"

#define TOTALS	   "Totals/"
#define SERIES_MAX 1024u /* of one file */
#define OTHERS_MAX 4096u /* tables of one series and step that have no number */

struct reading {
	struct contents *c;
	const struct selection *sel;
	const char *series;
	bool all_tables;
	struct cursor *cursor;
	struct reader_node *before; /* the cursor may still be in it */
	void (*problem)(void *ctx, const char *step, const char *node, const char *table, int err);
	void *ctx;
};

static int find_series(struct contents *c, const char *name, bool grouped, unsigned *at)
{
	for (*at = 0; *at < c->nseries; (*at)++)
		if (!strcmp(c->series[*at].name, name))
			return 0;
	if (c->nseries == SERIES_MAX)
		return -E2BIG;
	if (room__grow(&c->series, c->nseries, 1, sizeof(*c->series)))
		return -ENOMEM;
	c->series[*at] = (struct contents_series){.name = strdup(name), .grouped = grouped};
	c->nseries++;
	return c->series[*at].name ? 0 : -ENOMEM;
}

static int find_place(struct contents_step *s, unsigned series, struct contents_place **out)
{
	for (unsigned i = 0; i < s->nplaces; i++) {
		*out = &s->places[i];
		if ((*out)->series == series)
			return 0;
	}
	if (room__grow(&s->places, s->nplaces, 1, sizeof(*s->places)))
		return -ENOMEM;
	*out = &s->places[s->nplaces++];
	**out = (struct contents_place){.series = series};
	return 0;
}

static int add_table(struct contents_place *p, const char *name)
{
	uint64_t task;

	if (!parse_u64(name, &task)) {
		if (room__grow(&p->tasks, p->ntasks, 1, sizeof(*p->tasks)))
			return -ENOMEM;
		p->tasks[p->ntasks++] = task;
		return 0;
	}
	for (unsigned i = 0; i < p->others.n; i++)
		if (!strcmp(p->others.v[i], name))
			return 0;
	if (p->others.n == OTHERS_MAX)
		return -E2BIG;
	return string_list__append(&p->others, name);
}

static int add_column(struct contents_series *s, const struct column *c)
{
	struct contents_column *to;

	if (room__grow(&s->cols, s->ncols, 1, sizeof(*s->cols)))
		return -ENOMEM;
	to = &s->cols[s->ncols++];
	*to = (struct contents_column){.name = strdup(c->name), .column = *c};
	if (c->source != COL_BUILTIN) {
		to->column.unit = to->unit = strdup(c->unit);
		to->column.doc = to->doc = strdup(c->doc);
	}
	to->column.name = to->name;
	return to->name && to->column.unit && to->column.doc ? 0 : -ENOMEM;
}

static int add_columns(struct contents_series *s, const struct cursor *c)
{
	struct table_columns t = {0};
	int err = table_columns__read(&t, c, s->name);

	s->tables++;
	for (unsigned i = 0; !err && i < c->ncols; i++) {
		unsigned at = 0;

		while (at < s->ncols && strcmp(s->cols[at].name, c->cols[i].name))
			at++;
		if (at == s->ncols)
			err = add_column(s, &t.cols[i]);
		if (!err)
			s->cols[at].tables++;
	}
	table_columns__clear(&t);
	return err;
}

static void report_problem(struct reading *rd, const char *step, const char *node,
			   const char *table, int err)
{
	if (rd->problem)
		rd->problem(rd->ctx, step, node, table, err);
}

static int read_columns(struct reading *rd, unsigned at, const struct reader_node *n,
			const struct reader_series *s, const char *table)
{
	int err = cursor__open(rd->cursor, n, s, table);
	char name[600];

	if (!err)
		return add_columns(&rd->c->series[at], rd->cursor);
	if (err == -ENOMEM)
		return err;
	snprintf(name, sizeof(name), "%s%s%s", s->name, s->grouped ? "/" : "",
		 s->grouped ? table : "");
	report_problem(rd, n->step, n->name, name, err);
	return 0;
}

/* Whether the tables of the series have columns of their own. */
static bool is_apart(const struct reader_series *s)
{
	return s->grouped && (!strcmp(s->name, "Totals") || !strcmp(s->name, "User"));
}

/* Tasks or a table that are selected have no part in a series that has none. */
static bool is_meant(const struct reading *rd, const struct reader_series *s, const char *table)
{
	return s->grouped && strcmp(s->name, "Totals") ? select__table(rd->sel, table)
						       : !rd->sel->ntasks && !rd->sel->table;
}

static int begin_place(struct reading *rd, struct contents_step *step, const char *name,
		       bool grouped, unsigned *at, struct contents_place **p)
{
	int err = find_series(rd->c, name, grouped, at);

	if (!err)
		err = find_place(step, *at, p);
	if (!err)
		(*p)->nodes++;
	return err;
}

/* Tables [from, from + n) of s are what the file calls name. */
static int read_series(struct reading *rd, struct contents_step *step, const struct reader_node *n,
		       const struct reader_series *s, const char *name, unsigned from,
		       unsigned ntables)
{
	bool grouped = s->grouped && !strcmp(s->name, name);
	struct contents_place *p;
	unsigned at, meant = 0;
	int err = 0;

	for (unsigned i = from; !err && i < from + ntables; i++) {
		if (!is_meant(rd, s, s->tables.v[i]))
			continue;
		if (!meant++)
			err = begin_place(rd, step, name, grouped, &at, &p);
		if (!err && grouped)
			err = add_table(p, s->tables.v[i]);
		if (!err && (meant == 1 || rd->all_tables))
			err = read_columns(rd, at, n, s, s->tables.v[i]);
	}
	return err;
}

static int read_node_series(struct reading *rd, struct contents_step *step,
			    const struct reader_node *n, const struct reader_series *s)
{
	char name[300];
	int err = 0;

	if (!is_apart(s))
		return read_series(rd, step, n, s, s->name, 0, s->tables.n);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		snprintf(name, sizeof(name), "%s/%s", s->name, s->tables.v[i]);
		if (!rd->series || !strchr(rd->series, '/') || !strcmp(rd->series, name))
			err = read_series(rd, step, n, s, name, i, 1);
	}
	return err;
}

static int add_node(struct contents_step *s, const char *node)
{
	if (room__grow(&s->nodes, s->nnodes, 1, sizeof(*s->nodes)))
		return -ENOMEM;
	s->nodes[s->nnodes++] = node;
	return 0;
}

static int read_node(struct reading *rd, const struct reader *r, const struct node_ref *ref,
		     struct contents_step *step)
{
	const char *name = r->steps[ref->step].nodes.v[ref->node];
	bool total = rd->series && str__starts(rd->series, TOTALS);
	struct reader_node *n;
	int err = add_node(step, name);

	if (!err)
		err = reader__node(r, ref->step, ref->node, total ? "Totals" : rd->series, &n);
	if (err == -ENOMEM)
		return err;
	if (err) {
		report_problem(rd, step->name, name, NULL, err);
		return 0;
	}
	for (unsigned i = 0; !err && i < n->nseries; i++)
		err = read_node_series(rd, step, n, &n->series[i]);
	reader_node__free(rd->before);
	rd->before = n;
	return err;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_tasks(struct contents_place *p)
{
	unsigned n = 0;

	if (p->ntasks)
		qsort(p->tasks, p->ntasks, sizeof(*p->tasks), by_number);
	for (unsigned i = 0; i < p->ntasks; i++)
		if (!n || p->tasks[i] != p->tasks[n - 1])
			p->tasks[n++] = p->tasks[i];
	p->ntasks = n;
}

static int read_all(struct reading *rd, const struct reader *r)
{
	struct contents *c = rd->c;
	struct contents_step *step = NULL;
	struct node_ref *refs;
	unsigned n;
	int err = select__nodes(r, rd->sel, &refs, &n);

	if (err)
		return err;
	c->steps = calloc(r->nsteps + 1, sizeof(*c->steps));
	if (!c->steps)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < n; i++) {
		if (!i || refs[i].step != refs[i - 1].step) {
			step = &c->steps[c->nsteps++];
			step->name = r->steps[refs[i].step].name;
		}
		err = read_node(rd, r, &refs[i], step);
	}
	free(refs);
	for (unsigned i = 0; !err && i < c->nsteps; i++)
		for (unsigned k = 0; k < c->steps[i].nplaces; k++)
			sort_tasks(&c->steps[i].places[k]);
	return err;
}

int contents__read(struct contents **out, const struct model_file *f, const struct selection *sel,
		   const char *series, bool all_tables,
		   void (*problem)(void *ctx, const char *step, const char *node, const char *table,
				   int err),
		   void *ctx)
{
	struct reading rd = {.sel = sel,
			     .series = series,
			     .all_tables = all_tables,
			     .problem = problem,
			     .ctx = ctx};
	int err;

	rd.c = calloc(1, sizeof(*rd.c));
	if (!rd.c)
		return -ENOMEM;
	err = cursor__new(&rd.cursor);
	if (!err)
		rd.cursor->as_stored = true; /* its values are not asked for */
	if (!err)
		err = read_all(&rd, f->reader);
	cursor__free(rd.cursor);
	reader_node__free(rd.before);
	if (err)
		contents__free(rd.c);
	else
		*out = rd.c;
	return err;
}

static void free_step(struct contents_step *s)
{
	for (unsigned i = 0; i < s->nplaces; i++) {
		string_list__free(&s->places[i].others);
		free(s->places[i].tasks);
	}
	free(s->places);
	free(s->nodes);
}

static void free_column(struct contents_column *c)
{
	free(c->name);
	free(c->unit);
	free(c->doc);
}

void contents__free(struct contents *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->nsteps; i++)
		free_step(&c->steps[i]);
	for (unsigned i = 0; i < c->nseries; i++) {
		for (unsigned k = 0; k < c->series[i].ncols; k++)
			free_column(&c->series[i].cols[k]);
		free(c->series[i].cols);
		free(c->series[i].name);
	}
	free(c->series);
	free(c->steps);
	free(c);
}
