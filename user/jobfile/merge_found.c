/* SPDX-License-Identifier: GPL-2.0-only */
/* A reader's message: the number of its item, and what merge_look.c leaves. */
#include <errno.h>
#include <stdlib.h>

#include "jobfile/merge_internal.h"
#include "pool/message.h"

void merge_found__clear(struct merge_found *f)
{
	for (unsigned i = 0; i < f->ntotals; i++)
		free(f->totals[i].cols);
	free(f->totals);
	free(f->tasks);
	*f = (struct merge_found){.trouble = "", .nodelist = ""};
}

/* Of things of which each takes some of the message. */
static int take_count(struct message *w, unsigned *n)
{
	const unsigned *p = message__take(w, sizeof(*p));

	*n = p ? *p : 0;
	return p && *p <= w->len ? 0 : -EBADMSG;
}

static int take_tasks(struct message *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	if (err)
		return err;
	f->tasks = calloc(n + 1, sizeof(*f->tasks));
	if (!f->tasks)
		return -ENOMEM;
	for (; f->ntasks < n; f->ntasks++)
		f->tasks[f->ntasks] = (char *)message__take_text(w);
	return 0;
}

/* What h5__row_type relies on, of column i. */
static bool column_ok(const struct nodescan_total *t, unsigned i, unsigned array_end)
{
	const struct column *c = &t->cols[i];

	if (c->type > COL_I64)
		return false;
	return !c->array || (i >= array_end && c->array <= t->ncols - i && *c->name);
}

static int take_columns(struct message *w, struct nodescan_total *t)
{
	unsigned array_end = 0;

	for (unsigned i = 0; i < t->ncols; i++) {
		const unsigned *kind = message__take(w, 2 * sizeof(*kind));

		if (!kind)
			return -EBADMSG;
		t->cols[i] = (struct column){.type = kind[0], .array = kind[1]};
		t->cols[i].name = message__take_text(w);
		if (!column_ok(t, i, array_end))
			return -EBADMSG;
		if (t->cols[i].array)
			array_end = i + t->cols[i].array;
	}
	return 0;
}

static int take_total(struct message *w, struct nodescan_total *t)
{
	int err = take_count(w, &t->ncols);

	if (!err)
		err = take_count(w, &t->nrows);
	if (err)
		return err;
	t->name = (char *)message__take_text(w);
	t->cols = calloc(t->ncols + 1, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	err = take_columns(w, t);
	if (!err)
		t->rows = (union cell *)message__take(w, (size_t)t->ncols * t->nrows *
								 sizeof(*t->rows));
	return err;
}

static int take_image(struct message *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	f->image_bytes = err ? 0 : n;
	f->image = f->image_bytes ? message__take(w, n) : NULL;
	return err;
}

static int take_totals(struct message *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	f->totals = err ? NULL : calloc(n + 1, sizeof(*f->totals));
	if (!err && !f->totals)
		err = -ENOMEM;
	while (!err && f->ntotals < n)
		err = take_total(w, &f->totals[f->ntotals++]);
	return err;
}

int merge_found__take(struct merge_found *f, unsigned item, struct message *w)
{
	const unsigned *of = message__take(w, sizeof(*of));
	const int *err = message__take(w, sizeof(*err));
	const struct merge_stamp *stamp = message__take(w, sizeof(*stamp));
	const struct nodescan_facts *facts = message__take(w, sizeof(*facts));
	int bad;

	if (!of || *of != item || !err || !stamp || !facts)
		return -EBADMSG;
	f->err = *err;
	f->stamp = *stamp;
	f->facts = *facts;
	f->trouble = message__take_text(w);
	f->nodelist = message__take_text(w);
	bad = take_tasks(w, f);
	if (!bad)
		bad = take_totals(w, f);
	if (!bad)
		bad = take_image(w, f);
	return bad ? bad : w->bad ? -EBADMSG : 0;
}
