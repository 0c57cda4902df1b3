/* SPDX-License-Identifier: GPL-2.0-only */
#include "schema/describe.h"

#include <string.h>

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
	  .blind = blind_}},
#include "schemas/slurm.def"
#undef SLURM_COL
};

static bool matches(const char *pattern, const char *name)
{
	size_t end = strlen(pattern + 1), len = strlen(name);

	if (*pattern != '*')
		return !strcmp(pattern, name);
	return len > end && !strcmp(name + len - end, pattern + 1);
}

static const struct column *in_series(const struct series *s, const char *column, bool time_only)
{
	for (unsigned i = 0; i < s->ncols; i++)
		if (!strcmp(s->cols[i].name, column) && (!time_only || s->cols[i].kind == COL_TIME))
			return &s->cols[i];
	return NULL;
}

const struct column *describe__column(const char *series, const char *column)
{
	const struct series *s = series__find(series);
	const struct column *c = s ? in_series(s, column, false) : NULL;

	for (unsigned i = 0; !c && i < ARRAY_SIZE(slurm_cols); i++)
		if (!strcmp(slurm_cols[i].series, series) &&
		    matches(slurm_cols[i].col.name, column))
			c = &slurm_cols[i].col;
	return c ? c : in_series(&builtin_series[0], column, true);
}
