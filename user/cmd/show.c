/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof show: one page about a node-step or job file. */
#include "cmd/show.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/log.h"
#include "cmd/show_view.h"
#include "cmd/spark.h"
#include "cmd/verbs.h"

static int show_json(const struct reader *r, FILE *out)
{
	json_t *nodes = json_array(), *all;
	int err = nodes ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < r->nnodes; i++) {
		struct view v;

		err = view__load(&v, r, &r->nodes[i]);
		if (!err && json_array_append_new(nodes, show__json(&v)))
			err = -ENOMEM;
		view__free(&v);
	}
	if (err) {
		json_decref(nodes);
		return err;
	}
	all = json_pack("{s:b, s:o}", "merged", r->merged, "nodes", nodes);
	if (!all || json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)))
		err = -EIO;
	putc('\n', out);
	json_decref(all);
	return err;
}

/* Into memory first: a damaged file gives an error, not half a page. */
static int show_text(const struct reader *r, bool all, FILE *out)
{
	unsigned width = spark__width(out);
	bool utf8 = spark__utf8();
	char *text = NULL;
	size_t len = 0;
	FILE *page = open_memstream(&text, &len);
	int err = page ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < r->nnodes; i++) {
		struct view v;

		err = view__load(&v, r, &r->nodes[i]);
		v.all = all;
		if (i)
			putc('\n', page);
		if (!err)
			show__page(&v, page, width, utf8);
		view__free(&v);
	}
	if (page && fclose(page) && !err)
		err = -ENOMEM;
	if (!err && fwrite(text, 1, len, out) != len)
		err = -EIO;
	free(text);
	return err;
}

int show__file(const char *path, enum show_form form, FILE *out)
{
	struct reader *r;
	int err = reader__open(&r, path);

	if (err)
		return err;
	err = form == SHOW_JSON ? show_json(r, out) : show_text(r, form == SHOW_ALL, out);
	reader__free(r);
	return err;
}

const char *show__error(int err)
{
	switch (err) {
	case -EBADMSG:
		return "not a profile, or damaged";
	case -EMSGSIZE:
		return "a table claims more rows than the file can hold";
	default:
		return strerror(-err);
	}
}

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof show [--all | --json] FILE.h5...\n\n"
		"One page about each node-step or job file: time, memory and I/O of every task,\n"
		"the whole step, and how they went over time.\n\n"
		"  -a, --all   every column, also those without a line of their own, and the\n"
		"              tables of all other series\n"
		"      --json  as JSON\n");
	return out == stdout ? 0 : 2;
}

int verb_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{"all", no_argument, NULL, 'a'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	enum show_form form = SHOW_PAGE;
	int c, status = 0;

	while ((c = getopt_long(argc, argv, "ah", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout);
		if (c != 'a' && c != 'j')
			return usage(stderr);
		form = c == 'a' ? SHOW_ALL : SHOW_JSON;
	}
	if (optind == argc)
		return usage(stderr);
	for (int i = optind; i < argc; i++) {
		int err = show__file(argv[i], form, stdout);

		if (!err)
			continue;
		log_error("%s: %s", argv[i], show__error(err));
		status = 1;
	}
	return status;
}
