/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/kinds.h"

#include "store/describe.h"

enum col_kind kinds__of(const char *series, const char *column)
{
	const struct column *c = describe__column(series, column);

	if (!c)
		c = series__column(column);
	return c ? c->kind : COL_DELTA;
}
