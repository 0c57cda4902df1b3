/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of the reduction of all files: text, JSON, a group in the job file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "jobfile/store.h"
#include "view/reduce/reduce_print.h"

static bool has_column(const struct reduction *r, const char *name)
{
	for (unsigned i = 0; i < r->ncolumns; i++)
		if (!strcasecmp(r->columns[i]->name, name))
			return true;
	return false;
}

/* Whether all that was asked for is there. */
static bool is_there(const struct reduce_work *w, const struct reduction *r)
{
	bool all = r->tables > 0;

	if (!all && reduction__coverage(r).read)
		log_error("no file has a table of %s; \"jobprof list -i FILE\" shows what is there",
			  w->o->series);
	for (unsigned i = 0; r->tables && i < w->columns.n; i++) {
		if (has_column(r, w->columns.v[i]))
			continue;
		log_error("no table of %s has a column %s; \"jobprof list -i FILE\" shows what is "
			  "there",
			  w->o->series, w->columns.v[i]);
		all = false;
	}
	return all;
}

static int print(const struct reduce_work *w, const struct reduction *r)
{
	json_t *json;
	int err;

	if (!w->o->json) {
		reduce_print__text(r, stdout);
		return 0;
	}
	json = reduce_print__json(r);
	err = json ? json__dump(json, stdout, JSON_INDENT(1)) : -1;
	putchar('\n');
	json_decref(json);
	if (!json)
		log_error("%s", strerror(ENOMEM));
	return err ? 1 : 0;
}

int reduce_result__put(const struct reduce_work *w, struct reduction *r)
{
	struct reduction_coverage c;
	bool all;
	int status;

	reduction__order(r);
	c = reduction__coverage(r);
	all = is_there(w, r);
	if (!r->tables)
		return 1;
	status = w->o->store ? reduce_store__write(r, w->files.v[0].path) : print(w, r);
	if (w->o->store || w->o->json)
		if (c.part < 1)
			reduce_print__coverage(r, stderr);
	return status || !all || w->failed || c.part < 1 ? 1 : 0;
}
