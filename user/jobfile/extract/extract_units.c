/* SPDX-License-Identifier: GPL-2.0-only */
/* Units of the columns that are written: the table says them, or the schema. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/table_columns.h"
#include "jobfile/extract/extract_internal.h"
#include "schema/describe.h"

static struct column_unit *find_unit(const struct extraction *x, const char *column)
{
	for (unsigned i = 0; i < x->nunits; i++)
		if (!strcmp(x->units[i].column, column))
			return &x->units[i];
	return NULL;
}

static int add_unit(struct extraction *x, const char *column, const char *unit)
{
	struct column_unit *u = find_unit(x, column);

	if (u) {
		if (strcmp(u->unit, unit))
			*u->unit = '\0'; /* tables differ */
		return 0;
	}
	u = realloc(x->units, (x->nunits + 1) * sizeof(*u));
	if (!u)
		return -ENOMEM;
	x->units = u;
	u += x->nunits++;
	*u = (struct column_unit){strdup(column), strdup(unit)};
	return u->column && u->unit ? 0 : -ENOMEM;
}

int extract__collect_units(struct extraction *x)
{
	struct table_columns t = {0};
	int err =
		x->opt->units && x->collecting ? table_columns__read(&t, x->cursor, x->series) : 0;

	for (unsigned i = 0; !err && i < t.ncols; i++)
		err = add_unit(x, t.cols[i].name, t.cols[i].unit);
	if (!err && x->opt->units && x->collecting && extract__has_seconds(x))
		err = add_unit(x, EXTRACT_SECONDS, "s");
	table_columns__clear(&t);
	return err;
}

int extract__lay_out_units(struct extraction *x)
{
	free(x->text.units);
	x->text.units = NULL;
	if (!x->opt->units)
		return 0;
	x->text.units = calloc(x->text.ncols + 1, sizeof(*x->text.units));
	for (unsigned i = 0; x->text.units && i < x->text.ncols; i++) {
		const struct column_unit *u = find_unit(x, x->text.names[i]);
		const char *of = aggregate__column(x->text.names[i], NULL);

		if (!u && of)
			u = find_unit(x, of);
		x->text.units[i] = u ? u->unit : "";
	}
	return x->text.units ? 0 : -ENOMEM;
}

void extract__forget_units(struct extraction *x)
{
	for (unsigned i = 0; i < x->nunits; i++) {
		free(x->units[i].column);
		free(x->units[i].unit);
	}
	free(x->units);
	x->units = NULL;
	x->nunits = 0;
}
