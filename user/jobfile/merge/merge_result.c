/* SPDX-License-Identifier: GPL-2.0-only */
/* What a worker found of a node, on its way through a message to the process that writes. */
#include <errno.h>
#include <stdlib.h>

#include "jobfile/merge/merge_internal.h"

void merge_result__clear(struct merge_result *r)
{
	for (unsigned i = 0; i < r->ntotals; i++)
		free(r->totals[i].cols);
	free(r->totals);
	free(r->tasks);
	*r = (struct merge_result){.trouble = "", .nodelist = ""};
}

static void put_total(struct message *m, const struct nodescan_total *t)
{
	message__put(m, &t->ncols, sizeof(t->ncols));
	message__put(m, &t->nrows, sizeof(t->nrows));
	message__put_text(m, t->name);
	for (unsigned c = 0; c < t->ncols; c++) {
		const unsigned kind[2] = {t->cols[c].type, t->cols[c].array};

		message__put(m, kind, sizeof(kind));
		message__put_text(m, t->cols[c].name);
	}
	message__put(m, t->rows, (size_t)t->ncols * t->nrows * sizeof(*t->rows));
}

static bool has_columns(const struct nodescan_total *t)
{
	return !t->mixed && t->ncols;
}

static void put_totals(struct message *m, const struct merge_result *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->ntotals; i++)
		n += has_columns(&r->totals[i]);
	message__put(m, &n, sizeof(n));
	for (unsigned i = 0; i < r->ntotals; i++)
		if (has_columns(&r->totals[i]))
			put_total(m, &r->totals[i]);
}

void merge_result__put(struct message *m, const struct merge_result *r)
{
	message__put(m, &r->err, sizeof(r->err));
	message__put(m, &r->stamp, sizeof(r->stamp));
	message__put(m, &r->info, sizeof(r->info));
	message__put_text(m, r->trouble);
	message__put_text(m, r->nodelist);
	message__put(m, &r->ntasks, sizeof(r->ntasks));
	for (unsigned i = 0; i < r->ntasks; i++)
		message__put_text(m, r->tasks[i]);
	put_totals(m, r);
}

/* The number of things that follow, each of which takes some of the message. */
static int take_count(struct message *m, unsigned *n)
{
	const unsigned *p = message__take(m, sizeof(*p));

	*n = p ? *p : 0;
	return p && *p <= m->len ? 0 : -EBADMSG;
}

static int take_tasks(struct message *m, struct merge_result *r)
{
	unsigned n;
	int err = take_count(m, &n);

	if (err)
		return err;
	r->tasks = calloc(n + 1, sizeof(*r->tasks));
	if (!r->tasks)
		return -ENOMEM;
	for (; r->ntasks < n; r->ntasks++)
		r->tasks[r->ntasks] = (char *)message__take_text(m);
	return 0;
}

/* Whether column i is as h5__row_type relies on. */
static bool column_ok(const struct nodescan_total *t, unsigned i, unsigned array_end)
{
	const struct column *c = &t->cols[i];

	if (c->type > COL_I64)
		return false;
	return !c->array || (i >= array_end && c->array <= t->ncols - i && *c->name);
}

static int take_columns(struct message *m, struct nodescan_total *t)
{
	unsigned array_end = 0;

	for (unsigned i = 0; i < t->ncols; i++) {
		const unsigned *kind = message__take(m, 2 * sizeof(*kind));

		if (!kind)
			return -EBADMSG;
		t->cols[i] = (struct column){.type = kind[0], .array = kind[1]};
		t->cols[i].name = message__take_text(m);
		if (!column_ok(t, i, array_end))
			return -EBADMSG;
		if (t->cols[i].array)
			array_end = i + t->cols[i].array;
	}
	return 0;
}

static int take_total(struct message *m, struct nodescan_total *t)
{
	int err = take_count(m, &t->ncols);

	if (!err)
		err = take_count(m, &t->nrows);
	if (err)
		return err;
	t->name = (char *)message__take_text(m);
	t->cols = calloc(t->ncols + 1, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	err = take_columns(m, t);
	if (!err)
		t->rows = (union cell *)message__take(m, (size_t)t->ncols * t->nrows *
								 sizeof(*t->rows));
	return err;
}

static int take_totals(struct message *m, struct merge_result *r)
{
	unsigned n;
	int err = take_count(m, &n);

	r->totals = err ? NULL : calloc(n + 1, sizeof(*r->totals));
	if (!err && !r->totals)
		err = -ENOMEM;
	while (!err && r->ntotals < n)
		err = take_total(m, &r->totals[r->ntotals++]);
	return err;
}

int merge_result__take(struct merge_result *r, struct message *m)
{
	const int *result = message__take(m, sizeof(*result));
	const struct merge_stamp *stamp = message__take(m, sizeof(*stamp));
	const struct node_info *info = message__take(m, sizeof(*info));
	int err;

	if (!result || !stamp || !info)
		return -EBADMSG;
	r->err = *result;
	r->stamp = *stamp;
	r->info = *info;
	r->trouble = message__take_text(m);
	r->nodelist = message__take_text(m);
	err = take_tasks(m, r);
	if (!err)
		err = take_totals(m, r);
	return err ? err : m->bad ? -EBADMSG : 0;
}
