/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of a node as arrays, with the time at which each of its rows ended. */
#include "model/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jobprof.h"

/* From TimeNS where it and the step's start are known, else from ElapsedTime. */
static int set_times(struct model_table *t, double start_ns)
{
	const double *ns = model_table__column(t, "TimeNS");
	const double *s = model_table__column(t, "ElapsedTime");
	bool exact = ns && !isnan(start_ns);
	const double *from = exact ? ns : s;

	if (!t->nrows || !from)
		return 0;
	t->end_s = calloc(t->nrows, sizeof(*t->end_s));
	if (!t->end_s)
		return -ENOMEM;
	for (uint64_t i = 0; i < t->nrows; i++)
		t->end_s[i] = exact ? (from[i] - start_ns) / 1e9 : from[i];
	return 0;
}

int model_table__read(struct model_table *t, const struct reader_node *n,
		      const struct reader_series *s, const char *name, double start_ns)
{
	struct table *stored;
	int err = reader__table(n, s, name, &stored);

	*t = (struct model_table){.name = name};
	if (err)
		return err;
	t->stored = stored;
	t->ncols = stored->ncols;
	t->nrows = stored->nrows;
	t->cols = stored->cols;
	t->values = stored->cells;
	return set_times(t, start_ns);
}

void model_table__free(struct model_table *t)
{
	table__free(t->stored);
	free(t->end_s);
	*t = (struct model_table){0};
}

const double *model_table__column(const struct model_table *t, const char *name)
{
	for (unsigned c = 0; c < t->ncols; c++)
		if (!strcmp(t->cols[c].name, name))
			return t->values + c * t->nrows;
	return NULL;
}

double model_table__span_s(const struct model_table *t)
{
	return t->end_s ? t->end_s[t->nrows - 1] : NAN;
}

enum family model_table__family(const struct model_table *t, unsigned column)
{
	if (t->cols[column].source == COL_BUILTIN)
		return t->cols[column].family;
	for (unsigned i = column + 1; i < t->ncols && i <= column + JP_PMU_EVENTS; i++) {
		const struct column *c = &t->cols[i];

		if (c->source == COL_BUILTIN && c->family != FAM_PERF)
			break;
		if (c->source == COL_BUILTIN && c->how == HOW_PMU_RUNNING)
			return FAM_PERF;
	}
	return 0;
}
