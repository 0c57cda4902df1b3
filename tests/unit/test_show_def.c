// SPDX-License-Identifier: GPL-2.0-or-later
/* schemas/show.def against the columns that there are. */

#include "tests/unit/unit.h"
#include "bpf/abi/sched.h"
#include "schema/describe.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const char *const named[] = {
#define ITEM(text, how, column, by, unit, flags) column, by,
#define COUNTERS(label, where, text, column)	 column,
#define SPARK(label, unit, scale, flags, ...)	 __VA_ARGS__,
#define CELL(head, width, unit, how, column, by) column, by,
#define ASIDE(column)				 column,
#include "schemas/show.def"
};

static const struct {
	const char *label, *series;
	char prefix, less;
} histograms[] = {
#define HISTOGRAM(label, key, series, prefix, less) {label, series, prefix, less},
#include "schemas/show.def"
};

static const char *const texts[] = {
#define ITEM(text, how, column, by, unit, flags) text,
#define COUNTERS(label, where, text, column)	 text,
#include "schemas/show.def"
};

static bool is_column(const char *name)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		if (column__describe(builtin_series[i].name, name, NULL).source == COL_BUILTIN)
			return true;
	return false;
}

TEST(every_name_is_a_columns)
{
	for (size_t i = 0; i < N(named); i++) {
		if (*named[i] && !is_column(named[i]))
			fail_msg("no column %s", named[i]);
	}
}

TEST(every_histogram_is_a_series)
{
	for (size_t i = 0; i < N(histograms); i++) {
		char prefixes[] = {histograms[i].prefix, histograms[i].less};
		const struct series *s = series__find(histograms[i].series);
		unsigned found = 0;

		assert_non_null(s);
		for (size_t p = 0; p < N(prefixes); p++)
			for (unsigned c = 0; prefixes[p] && c < s->ncols; c++)
				found += s->cols[c].how == HOW_BUCKET &&
					 s->cols[c].name[0] == prefixes[p];
		assert_int_equal(found, histograms[i].less ? 2 * JP_LAT_BUCKETS : JP_LAT_BUCKETS);
	}
}

/* They are formats for one string. */
TEST(every_text_takes_one_number)
{
	for (size_t i = 0; i < N(texts); i++) {
		const char *p = texts[i];
		unsigned numbers = 0;

		while ((p = strchr(p, '%'))) {
			if (p[1] == 's')
				numbers++;
			else
				assert_int_equal(p[1], '%');
			p += 2;
		}
		assert_int_equal(numbers, 1);
	}
}
