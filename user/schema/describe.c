/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides what a column of a file is, and which values its total has. */
#include "schema/describe.h"

#include <string.h>

#include "base/str.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *series;
	struct column col;
} slurm_cols[] = {
#define SLURM_COL(series_, name_, type_, unit_, kind_, doc_, blind_) \
	{series_,                                                    \
	 {.name = name_,                                             \
	  .type = COL_##type_,                                       \
	  .unit = unit_,                                             \
	  .kind = COL_##kind_,                                       \
	  .family = FAM_BASE,                                        \
	  .how = HOW_GIVEN,                                          \
	  .doc = doc_,                                               \
	  .blind = blind_,                                           \
	  .source = COL_BUILTIN}},
#include "schemas/slurm.def"
#undef SLURM_COL
};

static const struct column *in_series(const struct series *s, const char *column, bool time_only)
{
	for (unsigned i = 0; i < s->ncols; i++)
		if (!strcmp(s->cols[i].name, column) && (!time_only || s->cols[i].kind == COL_TIME))
			return &s->cols[i];
	return NULL;
}

static const struct column *find_builtin(const char *series, const char *name)
{
	const struct series *s = series__find(series);
	const struct column *c = s ? in_series(s, name, false) : NULL;

	for (unsigned i = 0; !c && i < ARRAY_SIZE(slurm_cols); i++)
		if (!strcmp(slurm_cols[i].series, series) &&
		    str__glob1(slurm_cols[i].col.name, name))
			c = &slurm_cols[i].col;
	return c ? c : in_series(&builtin_series[0], name, true);
}

struct column column__describe(const char *series, const char *name,
			       const struct column_stored *stored)
{
	static const char totals[] = "Totals/";
	enum aggregate a = AGGREGATES; /* AGGREGATES: the name has no prefix of one */
	const char *of = NULL;
	const struct column *builtin;
	struct column c = {.unit = "", .kind = COL_GAUGE, .how = HOW_GIVEN, .doc = "", .blind = ""};

	if (str__starts(series, totals)) {
		series += strlen(totals);
		of = aggregate__column(name, &a);
	}
	builtin = find_builtin(series, a < AGGREGATES ? of : name);
	if (builtin) {
		c = *builtin;
	} else if (stored && (stored->unit || stored->has_kind)) {
		c.unit = stored->unit ? stored->unit : "";
		c.doc = stored->doc ? stored->doc : "";
		c.kind = stored->has_kind ? stored->kind : COL_GAUGE;
		c.source = COL_STORED;
	}
	c.name = name;
	return c;
}

static const struct {
	const char *prefix, *doc;
} aggregates[AGGREGATES] = {
	[AGGREGATE_MIN] = {"Min_", "lowest"}, [AGGREGATE_MAX] = {"Max_", "highest"},
	[AGGREGATE_AVG] = {"Avg_", "mean"},   [AGGREGATE_SUM] = {"Sum_", "sum"},
	[AGGREGATE_LAST] = {"Last_", "last"},
};

bool aggregate__is_of(enum aggregate a, enum col_kind kind)
{
	switch (a) {
	case AGGREGATE_SUM:
		return kind == COL_DELTA;
	case AGGREGATE_LAST:
		return kind == COL_CUMULATIVE;
	default:
		return kind != COL_TIME;
	}
}

const char *aggregate__prefix(enum aggregate a)
{
	return aggregates[a].prefix;
}

const char *aggregate__doc(enum aggregate a)
{
	return aggregates[a].doc;
}

const char *aggregate__column(const char *name, enum aggregate *a)
{
	for (unsigned i = 0; i < AGGREGATES; i++) {
		if (!str__starts(name, aggregates[i].prefix))
			continue;
		if (a)
			*a = i;
		return name + strlen(aggregates[i].prefix);
	}
	return NULL;
}
