/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof show: one page about a node-step or job file. */
#include "cmd/show.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/log.h"
#include "cmd/show_job.h"
#include "cmd/show_view.h"
#include "cmd/spark.h"
#include "cmd/verbs.h"

/* One page, whole or not at all: a damaged file gives an error, not half a page. */
static int node_page(const struct reader *r, unsigned step, unsigned node, bool all, FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *page = open_memstream(&text, &len);
	struct view v;
	int err;

	if (!page)
		return -ENOMEM;
	err = view__load(&v, r, step, node);
	v.all = all;
	if (!err)
		show__page(&v, page, spark__width(out), spark__utf8());
	view__free(&v);
	if (fclose(page) && !err)
		err = -ENOMEM;
	if (!err && fwrite(text, 1, len, out) != len)
		err = -EIO;
	free(text);
	return err;
}

static int node_json(const struct reader *r, unsigned step, unsigned node, FILE *out)
{
	struct view v;
	json_t *json;
	int err = view__load(&v, r, step, node);

	json = err ? NULL : show__json(&v);
	view__free(&v);
	if (!err && !json)
		err = -ENOMEM;
	if (!err && json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)))
		err = -EIO;
	json_decref(json);
	return err;
}

/* Node by node: a job may have more of them than fit into memory. */
static int show_nodes(const struct reader *r, enum show_form form, FILE *out)
{
	bool json = form == SHOW_JSON;
	unsigned n = 0;
	int err = 0;

	for (unsigned s = 0; s < r->nsteps; s++) {
		for (unsigned i = 0; !err && i < r->steps[s].nnodes; i++) {
			if (n++)
				fputs(json ? ",\n" : "\n", out);
			err = json ? node_json(r, s, i, out)
				   : node_page(r, s, i, form == SHOW_ALL, out);
		}
	}
	return err;
}

/* The steps of a job, a line each. */
static int show_steps(const struct reader *r, bool json, FILE *out)
{
	int err = 0;

	if (json)
		fputs("\"steps\": [\n", out);
	else
		show_job__head(out);
	for (unsigned s = 0; !err && s < r->nsteps; s++) {
		struct job_step sum;
		json_t *obj;

		err = show_job__sum(r, s, &sum);
		if (err || !json) {
			if (!err)
				show_job__line(&sum, out);
			continue;
		}
		if (s)
			fputs(",\n", out);
		obj = show_job__json(&sum);
		if (!obj || json_dumpf(obj, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)))
			err = -EIO;
		json_decref(obj);
	}
	if (json)
		fputs("], ", out);
	return err;
}

int show__file(const char *path, enum show_form form, FILE *out)
{
	bool json = form == SHOW_JSON;
	struct reader *r;
	int err = reader__open(&r, path);

	if (err)
		return err;
	if (json)
		fprintf(out, "{\"merged\": %s, ", r->merged ? "true" : "false");
	err = r->merged ? show_steps(r, json, out) : 0;
	if (json)
		fputs("\"nodes\": [\n", out);
	else if (r->merged)
		putc('\n', out);
	if (!err)
		err = show_nodes(r, form, out);
	if (json && !err)
		fputs("]}\n", out);
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
