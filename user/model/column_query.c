/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a column, and the columns of time, in one table after the other. */
#include "model/column_query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hdf5/table_columns.h"

void column_query__problem(const struct column_query *q, const char *step, const char *node,
			   const char *table, int err)
{
	if (q->problem)
		q->problem(q->ctx, step, node, table, err);
}

static int describe(struct column_place *p, const struct column_query *q, const struct cursor *c)
{
	struct table_columns columns = {0};
	int err = table_columns__read(&columns, c, q->series);

	if (!err) {
		p->kind = columns.cols[p->value].kind;
		snprintf(p->unit, sizeof(p->unit), "%s", columns.cols[p->value].unit);
		p->name = strdup(c->cols[p->value].name);
		err = p->name ? 0 : -ENOMEM;
	}
	table_columns__clear(&columns);
	return err;
}

int column_place__find(struct column_place *p, const struct column_query *q, const struct cursor *c)
{
	if (p->shape == c->shape)
		return 0;
	p->shape = c->shape;
	p->value = cursor__column_like(c, q->column);
	p->ns = cursor__column(c, "TimeNS");
	p->epoch = cursor__column(c, "EpochTime");
	p->elapsed = cursor__column(c, "ElapsedTime");
	return p->value >= 0 && !p->name ? describe(p, q, c) : 0;
}
