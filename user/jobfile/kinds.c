/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/kinds.h"

#include "hdf5/table_columns.h"
#include "schema/describe.h"

static enum col_kind kind_of(const char *series, const char *column)
{
	const struct column *c = describe__column(series, column);

	if (!c)
		c = series__column(column);
	return c ? c->kind : COL_DELTA;
}

int kinds__read(const struct cursor *c, const char *series, enum col_kind *kinds)
{
	struct column_told *told = NULL;
	int err = 0;

	for (unsigned i = 0; !err && i < c->ncols; i++) {
		kinds[i] = kind_of(series, c->cols[i].name);
		if (describe__column(series, c->cols[i].name))
			continue;
		if (!told)
			err = column_told__read(c, &told);
		if (!err && told[i].has_kind)
			kinds[i] = told[i].kind;
	}
	column_told__free(told, c->ncols);
	return err;
}
