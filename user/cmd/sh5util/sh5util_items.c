/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util -I: one item of a series, all tables side by side, in the stock tool's form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/sh5util/sh5util.h"
#include "view/items/items_print.h"

struct work {
	const struct sh5_options *o;
	const char *from, *to;
};

static int write_items(const struct work *w, struct items *it, int fd)
{
	const struct sh5_options *o = w->o;
	const struct items_text text = {
		.format = &items_stock,
		.series = o->series,
		.column = o->item,
		.summary = o->output && !strcmp(o->output, "-") ? stderr : stdout,
	};
	int err = items__write(it, &text, fd);

	if (err)
		log_error("error: %s: %s", w->to, strerror(-err));
	return err ? SH5_FAILED : SH5_OK;
}

static int extract_items(const struct work *w, const struct model_file *f,
			 struct read_errors *errors, int fd)
{
	const struct sh5_options *o = w->o;
	const struct items_query q = {
		.of = {.series = o->series,
		       .column = o->item,
		       .sel = &o->sel,
		       .problem = read_errors__add,
		       .ctx = errors},
		.as_stored = true,
	};
	struct items *it = NULL;
	int status, err = items__open(&it, f, &q);

	if (err == -ENODATA) {
		log_error("error: Item %s not found in series %s", o->item, o->series);
		return SH5_NO_SERIES;
	}
	if (err == -ENOENT) {
		log_error("error: Series %s not found", o->series_text);
		return SH5_NO_SERIES;
	}
	if (err) {
		log_error("error: %s", model_file__strerror(err));
		return SH5_FAILED;
	}
	status = write_items(w, it, fd);
	items__free(it);
	return status;
}

/* In a child. */
static int write_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct read_errors errors = {.path = w->from, .series = w->o->series};
	struct model_file f;
	bool all_there;
	int status;

	if (!sh5__open(&f, w->from))
		return SH5_USAGE;
	all_there = sh5__all_there(&f, w->from, &w->o->sel);
	status = extract_items(w, &f, &errors, fd);
	*keep = status == SH5_OK;
	read_errors__end(&errors, false);
	model_file__close(&f);
	if (status && status != SH5_NO_SERIES)
		return status;
	return !all_there || errors.damaged ? SH5_FAILED : status;
}

/* ./SERIES_ITEM_JOB.csv, both as they were typed, but never in another directory. */
static char *default_output(const struct sh5_options *o, uint32_t job)
{
	char *path;

	if (asprintf(&path, "./%s_%s_%" PRIu32 ".csv", o->series_text, o->item, job) < 0)
		return NULL;
	for (char *p = path + 2; *p; p++)
		if (*p == '/')
			*p = '_';
	return path;
}

int sh5__items(const struct sh5_options *o, const struct input_file *f)
{
	_cleanup_free_ char *path = o->output ? strdup(o->output) : default_output(o, f->job);
	struct work w = {o, f->path, path};

	if (!path)
		return SH5_FAILED;
	log_info("Extracting '%s' from '%s' data from %s into %s", o->item, o->series_text, f->path,
		 path);
	return sh5__write(path, f->path, write_file, &w);
}
