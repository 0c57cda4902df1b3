/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util -E: a series as CSV, in the stock tool's form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/output.h"
#include "cmd/sh5util.h"
#include "store/extract.h"

/* What is there is written, whatever else was asked for: damage and a step or node that is not
 * there make it a failure, a node without the series does not. */
static int judge(const struct sh5_options *o, const struct extract_result *res, bool all_there)
{
	if (res->damaged || !all_there || (res->tables && res->missing))
		return SH5_FAILED;
	if (res->tables)
		return SH5_OK;
	log_error("error: Series %s not found", o->series);
	return SH5_NO_SERIES;
}

static int write_series(const struct sh5_options *o, const char *from, const char *to,
			bool all_there)
{
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
	struct output out;
	int err = output__open(&out, to), status;

	if (err) {
		log_error("error: Failed to create output file %s -- %s", to, strerror(-err));
		return SH5_USAGE;
	}
	err = extract__run(from, &opt, out.fd, &res);
	if (err)
		log_error("error: %s: %s", to, strerror(-err));
	status = err ? SH5_FAILED : judge(o, &res, all_there);
	if (!res.tables)
		log_info("Output file generated is empty, removing it: %s", to);
	return output__close(&out, !err && res.tables) ? SH5_FAILED : status;
}

int sh5__extract(const struct sh5_options *o, const struct jobfile *f)
{
	_cleanup_free_ char *path = NULL;
	char missing[160];
	struct reader *r;
	bool all_there;

	if (o->output)
		path = strdup(o->output);
	else if (asprintf(&path, "./extract_%" PRIu32 ".csv", f->job) < 0)
		path = NULL;
	if (!path)
		return SH5_FAILED;
	log_info("Extracting job data from %s into %s", f->path, path);
	/* Before anything is written. */
	r = sh5__open(f->path);
	if (!r)
		return SH5_USAGE;
	/* Extraction says what is not. */
	all_there = !select__missing(r, &o->sel, missing, sizeof(missing));
	reader__free(r);
	return write_series(o, f->path, path, all_there);
}
