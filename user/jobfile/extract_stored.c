/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals that were stored with the rows: Totals/<series>, one row per table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "jobfile/extract_totals.h"

#define STORED_BYTES (64u << 20) /* more is computed from the rows */

void totals__unload(struct totals *t)
{
	reader_node__free(t->node);
	free(t->names);
	free(t->names_at);
	free(t->rows);
	free(t->tasks);
	t->node = NULL;
	t->names = NULL;
	t->names_at = NULL;
	t->rows = NULL;
	t->tasks = NULL;
	t->nnames = t->nrows = 0;
}

static int by_task(const void *a, const void *b)
{
	const struct stored_task *x = a, *y = b;

	return x->task < y->task ? -1 : x->task > y->task;
}

static int learn_names(struct totals *t, int task)
{
	const struct cursor *c = t->cursor;

	t->ncols = c->ncols;
	t->names = calloc(c->ncols, sizeof(*t->names));
	t->names_at = calloc(c->ncols, sizeof(*t->names_at));
	if (!t->names || !t->names_at)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++) {
		if ((int)i == task)
			continue;
		t->names[t->nnames] = c->cols[i].name;
		t->names_at[t->nnames++] = (struct text_col){(int)i, c->cols[i].type, true, NULL};
	}
	return 0;
}

static int read_rows(struct totals *t, int task)
{
	struct cursor *c = t->cursor;
	const union cell *rows;
	unsigned n;
	int err;

	t->rows = calloc(c->nrows * c->ncols + 1, sizeof(*t->rows));
	t->tasks = calloc(c->nrows + 1, sizeof(*t->tasks));
	if (!t->rows || !t->tasks)
		return -ENOMEM;
	while ((err = cursor__next(c, &rows, &n)) > 0) {
		memcpy(t->rows + (size_t)t->nrows * c->ncols, rows,
		       (size_t)n * c->ncols * sizeof(*rows));
		t->nrows += n;
	}
	for (unsigned i = 0; !err && i < t->nrows; i++)
		t->tasks[i] = (struct stored_task){
			task < 0 ? 0 : t->rows[(size_t)i * c->ncols + (unsigned)task].u, i};
	if (!err)
		qsort(t->tasks, t->nrows, sizeof(*t->tasks), by_task);
	return err;
}

/* Whether the tables' names are what Task holds: their position stands for any other name. */
static bool all_numbers(const struct reader_series *s)
{
	uint64_t v;

	for (unsigned i = 0; i < s->ntables; i++)
		if (parse_u64(s->tables[i], &v))
			return false;
	return true;
}

static int load(struct totals *t, const struct reader_series *all, const struct reader_series *s)
{
	int err = t->cursor ? 0 : cursor__new(&t->cursor), task;
	struct cursor *c = t->cursor;

	if (!err)
		err = cursor__open(c, t->node, all, s->name);
	if (err)
		return err;
	task = s->grouped ? cursor__column(c, "Task") : -1;
	if (c->nrows != s->ntables || (s->grouped && task < 0) ||
	    c->nrows * c->ncols > STORED_BYTES / sizeof(union cell))
		return -ENOENT;
	err = learn_names(t, task);
	if (!err)
		err = read_rows(t, task);
	return err;
}

int totals__load(struct extraction *x, const struct node_ref *ref, const struct reader_series *s)
{
	struct totals *t = x->totals;
	int err;

	totals__unload(t);
	if (s->grouped && !all_numbers(s))
		return 0;
	err = reader__node(x->r, ref->step, ref->node, "Totals", &t->node);
	if (!err && t->node->nseries && t->node->series->grouped)
		err = load(t, t->node->series, s);
	t->grouped = s->grouped;
	if (err)
		totals__unload(t); /* the rows are the truth in any case */
	return err == -ENOMEM ? err : 0;
}

const union cell *totals__row(const struct totals *t, const char *table)
{
	struct stored_task key, *at;

	if (!t->nrows)
		return NULL;
	if (!t->grouped)
		return t->rows;
	if (parse_u64(table, &key.task))
		return NULL;
	at = bsearch(&key, t->tasks, t->nrows, sizeof(*t->tasks), by_task);
	return at ? t->rows + (size_t)at->row * t->ncols : NULL;
}
