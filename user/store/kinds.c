/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/kinds.h"

#include <string.h>

#include "base/str.h"

/* "*Power": NodePower, GPU0Power and whatever label a sensor was given. */
static const struct {
	const char *series, *column;
	enum col_kind kind;
} known[] = {
	{"Energy", "*Power", COL_GAUGE},
};

enum col_kind kinds__of(const char *series, const char *column)
{
	const struct column *c = series__column(column);

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(series, known[i].series) && str__glob1(known[i].column, column))
			return known[i].kind;
	return c ? c->kind : COL_DELTA;
}
