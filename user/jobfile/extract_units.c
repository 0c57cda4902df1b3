/* SPDX-License-Identifier: GPL-2.0-only */
/* Units of the columns that are written: the table says them, or the schema. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/table_columns.h"
#include "schema/describe.h"
#include "jobfile/extract_internal.h"

/* The column that a total is of. */
static const char *base_of(const char *total)
{
	static const char *const prefixes[] = {"Min_", "Max_", "Avg_", "Sum_", "Last_"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(total, prefixes[i], strlen(prefixes[i])))
			return total + strlen(prefixes[i]);
	return total;
}

static struct unit_of *find(const struct extraction *x, const char *column)
{
	for (unsigned i = 0; i < x->nunits; i++)
		if (!strcmp(x->units[i].column, column))
			return &x->units[i];
	return NULL;
}

static int add(struct extraction *x, const char *column, const char *unit)
{
	struct unit_of *u = find(x, column);

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
	*u = (struct unit_of){strdup(column), strdup(unit)};
	return u->column && u->unit ? 0 : -ENOMEM;
}

static const char *unit_of(const char *series, const char *column, const struct column_told *told)
{
	const struct column *c = describe__column(series, column);

	if (told->unit)
		return told->unit;
	if (!c)
		c = describe__column(series, base_of(column));
	return c ? c->unit : "";
}

int extract__learn_units(struct extraction *x, const struct cursor *c)
{
	struct column_told *told = NULL;
	int err = x->opt->units && x->looking ? column_told__read(c, &told) : 0;

	for (unsigned i = 0; told && !err && i < c->ncols; i++)
		err = add(x, c->cols[i].name, unit_of(x->series, c->cols[i].name, &told[i]));
	column_told__free(told, c->ncols);
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
		const struct unit_of *u = find(x, x->text.names[i]);

		if (!u)
			u = find(x, base_of(x->text.names[i]));
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
