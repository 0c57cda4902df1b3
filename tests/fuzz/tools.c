/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extracts and prints one fuzzed file, by all series and formats. */
#include "tests/fuzz/tools.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/contents.h"
#include "jobfile/extract/extract.h"
#include "model/items.h"
#include "view/items/items_print.h"

/* A file to write to; one for all, since a fault leaves it behind. */
static int scratch(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		_exit(2);
	return fd;
}

static void extract(const char *path)
{
	static const char *const series[] = {"Tasks", "Step", "Energy", "RunLatency"};
	static const char *const columns[] = {"CPUTime", "Max_RSS"};
	static const struct extract_options forms[] = {
		{.totals = true},
		{.format = EXTRACT_JSON},
		{.totals = true, .format = EXTRACT_JSON, .columns = columns, .ncolumns = 2},
		{.format = EXTRACT_TABLE, .from = {.set = true, .ns = 1000000000}},
		{.totals = true, .stock = true},
		{.stock = true},
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct extract_options o = forms[i];
		struct extract_result result = {0};

		o.series = series;
		o.nseries = sizeof(series) / sizeof(*series);
		o.sel.by_name = o.stock;
		extract__run(path, &o, scratch(), &result);
	}
}

static void print_items(struct items *it, const char *series, const char *format)
{
	const struct items_format *f = items_format__find(format);
	struct items_totals totals = {0};
	struct items_row row;
	struct outbuf out;

	if (outbuf__init(&out, scratch()))
		return;
	f->begin(&out, it, series);
	while (items__next(it, &row) > 0) {
		if (row.first)
			totals = (struct items_totals){0};
		f->row(&out, it, &row);
		items__total(&totals, it, &row);
		if (f->end_step)
			f->end_step(&out, it, row.step, &totals);
	}
	if (f->end)
		f->end(&out);
	outbuf__end(&out);
}

static void read_items(const struct model_file *f)
{
	static const char *const queries[][3] = {
		{"Tasks", "RSS", "csv"},      {"Tasks", "CPUTime", "json"},
		{"Step", "CPUTime", "table"}, {"Energy", "Power", "csv"},
		{"Network", "InMB", "json"},
	};
	const struct selection sel = {0};

	for (unsigned i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		const struct items_query q = {
			.of = {.series = queries[i][0], .column = queries[i][1], .sel = &sel}};
		struct items *it;

		if (items__open(&it, f, &q))
			continue;
		print_items(it, queries[i][0], queries[i][2]);
		items__free(it);
	}
}

static void read_contents(const struct model_file *f)
{
	const struct selection sel = {0}, by_name = {.by_name = true};
	struct contents *c;

	if (!contents__read(&c, f, &sel, NULL, false, NULL, NULL))
		contents__free(c);
	if (!contents__read(&c, f, &by_name, "Tasks", true, NULL, NULL))
		contents__free(c);
}

void tools__read(const char *path, const struct model_file *f)
{
	read_contents(f);
	read_items(f);
	extract(path);
}
