/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The built-in series, made from schemas/. */
#include "schema/series.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "schema/quantities.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SERIES(name_, ...) static const struct column name_##_cols[] = {
#define COL(name_, type_, unit_, kind_, family_, how_, arg_, scale_, doc_, blind_) \
	{                                                                          \
		.name = #name_,                                                    \
		.type = COL_##type_,                                               \
		.unit = unit_,                                                     \
		.kind = COL_##kind_,                                               \
		.family = FAM_##family_,                                           \
		.how = HOW_##how_,                                                 \
		.arg = arg_,                                                       \
		.scale = scale_,                                                   \
		.doc = doc_,                                                       \
		.blind = blind_,                                                   \
		.source = COL_BUILTIN,                                             \
	},
/* clang-format off */
#define SERIES_END };
/* clang-format on */
#include "schemas/series.def"

_Static_assert(JP_LAT_BUCKETS == 40, "schemas/buckets.def has one column per bucket");

enum { SINGLE, GROUPED };
enum { OF_STEP, OF_PARTS, OF_NODE };

const struct series builtin_series[] = {
#define SERIES(name_, tables_, source_, doc_)      \
	{                                          \
		.name = #name_,                    \
		.doc = doc_,                       \
		.cols = name_##_cols,              \
		.ncols = ARRAY_SIZE(name_##_cols), \
		.grouped = tables_ == GROUPED,     \
		.of_node = source_ == OF_NODE,     \
		.of_parts = source_ == OF_PARTS,   \
	},
#include "schemas/series.def"
};
const unsigned n_builtin_series = ARRAY_SIZE(builtin_series);

const struct series *series__find(const char *name)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		if (!strcasecmp(builtin_series[i].name, name))
			return &builtin_series[i];
	return NULL;
}

const char *series__group_doc(const char *name)
{
	static const struct {
		const char *name, *doc;
	} groups[] = {
#define GROUP(name_, doc_) {#name_, doc_},
#include "schemas/series.def"
	};

	for (unsigned i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcasecmp(groups[i].name, name))
			return groups[i].doc;
	return NULL;
}

bool series__is_reserved(const char *name)
{
	return series__group_doc(name) || series__find(name);
}

struct column series__event(const char *name, unsigned i)
{
	return (struct column){
		.name = name,
		.type = COL_F64,
		.unit = "",
		.kind = COL_DELTA,
		.family = FAM_PERF,
		.how = HOW_PMU,
		.arg = (int)i,
		.scale = 1,
		.doc = "",
		.blind = "",
		.source = COL_STORED,
	};
}

unsigned series__select(const struct series *s, unsigned mask, const struct column **out,
			unsigned max)
{
	unsigned n = 0, values = 0;

	for (unsigned i = 0; i < s->ncols && n < max; i++) {
		if (!(s->cols[i].family & mask))
			continue;
		out[n++] = &s->cols[i];
		values += s->cols[i].kind != COL_TIME;
	}
	return values ? n : 0;
}

void series__print_names(FILE *out)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		fprintf(out, "%s ", builtin_series[i].name);
#define GROUP(name_, doc_) fputs(#name_ " ", out);
#include "schemas/series.def"
}

/* Whether an earlier series has a column of that name. */
static bool is_known_column(const char *name, unsigned series)
{
	for (unsigned i = 0; i < series; i++)
		for (unsigned k = 0; k < builtin_series[i].ncols; k++)
			if (!strcmp(builtin_series[i].cols[k].name, name))
				return true;
	return false;
}

void series__print_columns(FILE *out)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		for (unsigned k = 0; k < builtin_series[i].ncols; k++) {
			const struct column *c = &builtin_series[i].cols[k];

			if (c->array)
				k += c->array - 1;
			else if (!is_known_column(c->name, i))
				fprintf(out, "%s ", c->name);
		}
}
