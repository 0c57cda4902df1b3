/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util -E: a series as CSV, in the stock tool's form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/sh5util/sh5util.h"
#include "jobfile/jobfile.h"

struct work {
	const struct sh5_options *o;
	const char *from, *to;
};

/* What is there is written, whatever else was asked for: damage and a step or node that is not
 * there make it a failure, a node without the series does not. */
static int judge_result(const struct work *w, const struct extract_result *res)
{
	if (!res->opened) {
		log_error("error: Failed to open %s", w->from);
		return SH5_USAGE;
	}
	if (res->damaged || !res->all_there || (res->tables && res->missing))
		return SH5_FAILED;
	if (res->tables)
		return SH5_OK;
	log_error("error: Series %s not found", w->o->series_text);
	return SH5_NO_SERIES;
}

/* Runs in a limited child. */
static int write_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	const struct sh5_options *o = w->o;
	const char *const series[] = {o->series};
	const struct extract_options opt = {
		.series = series,
		.nseries = 1,
		.sel = o->sel,
		.format = EXTRACT_CSV,
		.totals = o->totals,
		.stock = true,
	};
	struct extract_result res = {0};
	int err = extract__run(w->from, &opt, fd, &res), status;

	/* What else went wrong, extraction has said. */
	if (res.write_error)
		log_error("error: %s: %s", w->to, strerror(-res.write_error));
	*keep = !err && res.tables;
	status = err && res.opened ? SH5_FAILED : judge_result(w, &res);
	if (!*keep && res.opened)
		log_info("Output file generated is empty, removing it: %s", w->to);
	return status;
}

int sh5__extract(const struct sh5_options *o, const struct input_file *f)
{
	_cleanup_free_ char *path = NULL;
	struct work w = {.o = o, .from = f->path};

	if (o->output)
		path = strdup(o->output);
	else if (asprintf(&path, "./extract_%" PRIu32 ".csv", f->job) < 0)
		path = NULL;
	if (!path)
		return SH5_FAILED;
	w.to = path;
	log_info("Extracting job data from %s into %s", f->path, path);
	return sh5__write(path, f->path, write_file, &w);
}
