/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof index export and import: rows go to other places and come from there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/index_actions.h"
#include "index/exchange.h"

int index_exchange__export(const struct index_options *o, const char *where, int n, char **words)
{
	const struct exchange_form form = {.csv = o->site.csv, .anonymize = o->anonymize};
	struct viewer viewer;
	struct index ix;
	int err;

	if (site_args__open(&o->site, &ix, &viewer))
		return 1;
	db__limit(ix.db, 0); /* all rows take their time */
	err = exchange__write(&ix, stdout, &o->site.filter, &viewer, &form);
	index__close(&ix);
	return err ? 1 : 0;
}

static int import_one(struct index *ix, const struct index_options *o, const char *name)
{
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	struct exchange_result res = {0};
	int err;

	if (!in) {
		log_error("%s: %s", name, strerror(errno));
		return 1;
	}
	err = exchange__read(ix, in, name, o->cluster, &res);
	printf("%s: %lu row%s", name, res.rows, res.rows == 1 ? "" : "s");
	if (res.refused)
		printf(", %lu refused", res.refused);
	putchar('\n');
	if (in != stdin)
		fclose(in);
	return err || res.refused;
}

int index_exchange__import(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	int status = 0;

	if (!n) {
		log_error("import of which file? \"-\" is standard input");
		return 2;
	}
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	for (int i = 0; i < n; i++)
		status |= import_one(&ix, o, words[i]);
	index__close(&ix);
	return status;
}
