/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the arguments of -s, -d and -N, and finds which of their steps and nodes a file lacks. */
#include "cmd/jobprof/select_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/str.h"
#include "model/contents.h"

int select_args__nodes(struct selection *sel, struct string_list *l, const char *text)
{
	char bad[128];
	int err;

	string_list__free(l);
	sel->nodes = NULL;
	if (!text || !strcmp(text, "*"))
		return 0;
	err = hostlist__parse(l, text, bad, sizeof(bad));
	if (err == -EINVAL)
		log_error("-N: not a host list: \"%s\"", bad);
	else if (err)
		log_error("-N: \"%s\": %s", text,
			  err == -E2BIG ? "means too many nodes" : strerror(-err));
	else
		sel->nodes = l;
	return !err ? 0 : err == -ENOMEM ? 1 : 2;
}

int select_args__series(struct selection *sel, struct number_range *task, char *series, size_t size,
			const char *text)
{
	int64_t number;

	if (select__series(text, series, size, &number, &sel->table)) {
		log_error("-s: \"%s\" is not the name of a series", text);
		return 2;
	}
	if (number >= 0) {
		*task = (struct number_range){(uint64_t)number, (uint64_t)number};
		sel->tasks = task;
		sel->ntasks = 1;
	}
	return 0;
}

bool select_args__missing(const struct model_file *f, const struct selection *sel, const char *path)
{
	char missing[SELECT_MISSING];

	if (!select__missing(f->reader, sel, missing))
		return false;
	log_error("%s: %s", path, missing);
	return true;
}

void select_args__no_series(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series)
{
	char near[SELECT_SERIES];

	select__near_series(f->reader, series, near);
	if (*near && strcmp(near, series))
		log_error("%s: there is no series %s; did you mean \"%s\"?", path, series, near);
	else
		log_error(
			"%s: there is no series %s%s%s; \"jobprof list FILE\" shows what is there",
			path, series, sel->table ? "/" : "", sel->table ? sel->table : "");
}

static void ignore(void *ctx, const char *step, const char *node, const char *table, int err)
{
}

void select_args__no_column(const struct model_file *f, const struct selection *sel,
			    const char *path, const char *series, const char *column)
{
	struct contents *c = NULL;
	const char **names = NULL, *near = NULL;
	unsigned n = 0;

	if (!contents__read(&c, f, sel, series, false, ignore, NULL) && c->nseries)
		names = calloc(c->series->ncols + 1, sizeof(*names));
	for (; names && n < c->series->ncols; n++)
		names[n] = c->series->cols[n].name;
	if (names)
		near = str__nearest(column, names, n);
	if (near && strcasecmp(near, column))
		log_error("%s: series %s has no column %s; did you mean \"%s\"?", path, series,
			  column, near);
	else
		log_error("%s: no such column: %s, or no row whose time is known; \"jobprof list "
			  "FILE\" "
			  "shows what is there",
			  path, column);
	free(names);
	contents__free(c);
}
