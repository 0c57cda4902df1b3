/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of jobprof top, in the order in which they are shown. */
#include "cmd/jobprof/top/top_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"

void top_rows__free(struct top_rows *r)
{
	free(r->v);
	*r = (struct top_rows){.node_power = NAN};
}

struct top_row *top_rows__add(struct top_rows *r, enum top_kind kind, unsigned parent)
{
	struct top_row *row;

	if (room__grow(&r->v, r->n, 1, sizeof(*r->v))) {
		r->no_memory = true;
		return NULL;
	}
	row = &r->v[r->n++];
	*row = (struct top_row){.kind = kind, .parent = parent};
	for (unsigned i = 0; i < TOP_VALUES; i++)
		row->v[i] = NAN;
	return row;
}

double top_row__value(const struct top_row *r, unsigned value)
{
	switch (value) {
	case TOP_DISK_RATE:
		return r->v[TOP_BLK_READ] + r->v[TOP_BLK_WRITTEN];
	case TOP_NET_RATE:
		return r->v[TOP_NET_IN] + r->v[TOP_NET_OUT];
	case TOP_MEMORY_PART:
		return 100 * r->v[TOP_MEMORY] / r->v[TOP_LIMIT];
	default:
		return value < TOP_VALUES ? r->v[value] : NAN;
	}
}

bool top_row__has(const struct top_row *r, const char *text)
{
	return strcasestr(r->id, text) || strcasestr(r->user, text) || strcasestr(r->name, text) ||
	       strcasestr(r->key, text);
}

/* ---- folded rows */

static unsigned fold_of(const struct top_view *v, const struct top_row *r)
{
	unsigned i = 0;

	while (i < v->folded.n && strcmp(v->folded.v[i], r->key) != 0)
		i++;
	return i;
}

bool top_view__is_folded(const struct top_view *v, const struct top_row *r)
{
	return fold_of(v, r) < v->folded.n;
}

void top_view__fold(struct top_view *v, const struct top_row *r)
{
	unsigned i = fold_of(v, r);

	if (i == v->folded.n) {
		(void)string_list__append(&v->folded, r->key); /* without memory it stays open */
		return;
	}
	free(v->folded.v[i]);
	v->folded.v[i] = v->folded.v[--v->folded.n];
}

void top_view__free(struct top_view *v)
{
	string_list__free(&v->folded);
	free(v->shown);
	v->shown = NULL;
}

/* ---- order */

static int by_name(const struct top_view *v, const struct top_row *a, const struct top_row *b)
{
	if (!v->flat && a->v[TOP_ID] != b->v[TOP_ID] && !isnan(a->v[TOP_ID]) &&
	    !isnan(b->v[TOP_ID]))
		return a->v[TOP_ID] < b->v[TOP_ID] ? -1 : 1;
	return strverscmp(a->key, b->key);
}

/* The highest value first, and what is not known last; without a difference by name. */
static int by_value(const struct top_view *v, const struct top_row *a, const struct top_row *b)
{
	double x = top_row__value(a, v->sort), y = top_row__value(b, v->sort);

	if (v->sort == TOP_ID)
		return v->ascending ? -by_name(v, a, b) : by_name(v, a, b);
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (isnan(x) || x == y)
		return by_name(v, a, b);
	return (x > y) != v->ascending ? -1 : 1;
}

/* Job, step and task of a row; TOP_NONE behind the row itself. */
static void find_chain(const struct top_rows *rows, unsigned i, unsigned chain[static 3])
{
	unsigned up[3], n = 0;

	for (; i != TOP_NONE && n < 3; i = rows->v[i].parent)
		up[n++] = i;
	for (unsigned k = 0; k < 3; k++)
		chain[k] = k < n ? up[n - 1 - k] : TOP_NONE;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_view *v = arg;
	const unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	unsigned x[3], y[3];

	if (v->flat)
		return by_value(v, &v->rows->v[i], &v->rows->v[j]);
	find_chain(v->rows, i, x);
	find_chain(v->rows, j, y);
	for (unsigned k = 0; k < 3; k++) {
		if (x[k] == y[k])
			continue;
		if (x[k] == TOP_NONE || y[k] == TOP_NONE)
			return x[k] == TOP_NONE ? -1 : 1;
		return by_value(v, &v->rows->v[x[k]], &v->rows->v[y[k]]);
	}
	return 0;
}

static bool is_below_fold(const struct top_view *v, const struct top_rows *rows, unsigned i)
{
	for (i = rows->v[i].parent; i != TOP_NONE; i = rows->v[i].parent)
		if (top_view__is_folded(v, &rows->v[i]))
			return true;
	return false;
}

/* Marks the rows that the filter and the user select; in a tree also those above and below. */
static void select_rows(const struct top_view *v, const struct top_rows *rows, bool *selected)
{
	for (unsigned i = 0; i < rows->n; i++) {
		const struct top_row *r = &rows->v[i];
		bool above = !v->flat && r->parent != TOP_NONE && selected[r->parent];

		if (v->user[0] && strcmp(r->user, v->user) != 0)
			continue;
		selected[i] = above || !v->filter[0] || top_row__has(r, v->filter);
	}
	for (unsigned i = rows->n; i-- > 0;)
		if (selected[i] && rows->v[i].parent != TOP_NONE && !v->flat)
			selected[rows->v[i].parent] = true;
}

/* A list without a tree has the rows that have none below them. */
static bool is_leaf(const struct top_rows *rows, unsigned i)
{
	return i + 1 == rows->n || rows->v[i + 1].parent != i;
}

int top_view__arrange(struct top_view *v, const struct top_rows *rows)
{
	bool *selected = calloc(rows->n + 1, sizeof(*selected));

	free(v->shown);
	v->nshown = 0;
	v->rows = rows;
	v->shown = calloc(rows->n + 1, sizeof(*v->shown));
	if (!selected || !v->shown) {
		free(selected);
		return -ENOMEM;
	}
	select_rows(v, rows, selected);
	for (unsigned i = 0; i < rows->n; i++)
		if (selected[i] && (v->flat ? is_leaf(rows, i) : !is_below_fold(v, rows, i)))
			v->shown[v->nshown++] = i;
	free(selected);
	qsort_r(v->shown, v->nshown, sizeof(*v->shown), compare, v);
	return 0;
}
