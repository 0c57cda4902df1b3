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
#include "store/guard.h"

/* One page, whole or not at all: a damaged file gives an error, not half a page. */
static int node_page(const struct reader *r, unsigned step, unsigned node, FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *page = open_memstream(&text, &len);
	struct view v;
	int err;

	if (!page)
		return -ENOMEM;
	err = view__load(&v, r, step, node);
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
static int show_nodes(const struct reader *r, bool json, FILE *out)
{
	unsigned n = 0;
	int err = 0;

	for (unsigned s = 0; s < r->nsteps; s++) {
		for (unsigned i = 0; !err && i < r->steps[s].nnodes; i++) {
			if (n++)
				fputs(json ? ",\n" : "\n", out);
			err = json ? node_json(r, s, i, out) : node_page(r, s, i, out);
			/* What was whole stays so, whatever the next node does to us. */
			if (!err && fflush(out))
				err = -errno;
		}
	}
	return err;
}

int show__file(const char *path, bool json, FILE *out)
{
	struct reader *r;
	int err = reader__open(&r, path);

	if (err)
		return err;
	if (json)
		fprintf(out, "{\"merged\": %s, \"nodes\": [\n", r->merged ? "true" : "false");
	err = show_nodes(r, json, out);
	if (json && !err)
		fputs("]}\n", out);
	reader__free(r);
	return err;
}

static const char *meaning(int err)
{
	switch (err) {
	case -EBADMSG:
		return "not a profile, or damaged";
	case -EMSGSIZE:
		return "it claims more than the file can hold, or than is read";
	default:
		return strerror(-err);
	}
}

struct shown {
	const char *path;
	bool json;
};

static int show_in_child(void *arg)
{
	const struct shown *s = arg;
	int err = show__file(s->path, s->json, stdout);

	if (err)
		log_error("%s: %s%s", s->path, guard__at(), meaning(err));
	return err != 0;
}

int show__guarded(const char *path, bool json)
{
	struct shown s = {path, json};

	return guard__verb(show_in_child, &s, &GUARD_LOAD);
}

static int usage(FILE *out)
{
	fprintf(out,
		"usage: jobprof show [--json] FILE.h5...\n\n"
		"One page about each node-step or job file: time, memory and I/O of every task,\n"
		"the whole step, and how they went over time.\n\n"
		"      --json  as JSON\n");
	return out == stdout ? 0 : 2;
}

int verb_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool json = false;
	int c, status = 0;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout);
		if (c != 'j')
			return usage(stderr);
		json = true;
	}
	if (optind == argc)
		return usage(stderr);
	for (int i = optind; i < argc; i++)
		if (show__guarded(argv[i], json))
			status = 1;
	return status;
}
