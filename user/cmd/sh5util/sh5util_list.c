/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util -L: the columns that all tables of a series have. */
#include <errno.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/log.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/sh5util/sh5util.h"
#include "model/contents.h"
#include "pool/pool.h"

static void print_common(const struct contents_series *s)
{
	for (unsigned i = 0; i < s->ncols; i++) {
		if (s->cols[i].tables < s->tables)
			continue;
		print__escaped(stdout, s->cols[i].name);
		putchar('\n');
	}
}

struct work {
	const struct sh5_options *o;
	const char *path;
};

static int list_items(const struct work *w, const struct model_file *f)
{
	const struct sh5_options *o = w->o;
	struct read_errors errors = {.path = w->path};
	struct contents *c = NULL;
	int status = sh5__all_there(f, w->path, &o->sel) ? SH5_OK : SH5_FAILED, err;

	err = contents__read(&c, f, &o->sel, o->series, true, read_errors__add, &errors);
	if (err) {
		log_error("error: %s: %s", w->path, model_file__strerror(err));
		status = SH5_FAILED;
	} else if (c->nseries && c->series[0].tables) {
		print_common(&c->series[0]);
		status = errors.damaged ? SH5_FAILED : status;
	} else if (!status) {
		log_error("error: Series %s not found", o->series_text);
		status = SH5_NO_SERIES;
	}
	read_errors__end(&errors, false);
	contents__free(c);
	return status;
}

static int list_file(void *arg)
{
	const struct work *w = arg;
	struct model_file f;
	int status = sh5__open(&f, w->path) ? list_items(w, &f) : SH5_USAGE;

	model_file__close(&f);
	return status;
}

int sh5__list(const struct sh5_options *o, const struct input_file *f)
{
	struct work w = {o, f->path};

	log_info("Listing items from %s", f->path);
	return pool__call_verb(list_file, &w, &POOL_STREAM);
}
