/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the files of the runs that are compared. */
#include "cmd/jobprof/compare/compare_runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/jobprof/input_search.h"

static bool is_job(const char *word)
{
	_cleanup_free_ struct jobspec *specs = NULL;
	char reason[256];
	unsigned n;

	return !jobspec__parse(&specs, &n, word, reason, sizeof(reason));
}

int compare_runs__inputs(struct report_inputs *in, const struct compare_word *word)
{
	*in = (struct report_inputs){0};
	if (!access(word->text, F_OK))
		return report_inputs__of(in, NULL, word->text, NULL);
	if (is_job(word->text))
		return report_inputs__of(in, word->text, word->dir, NULL);
	log_error("%s: it is neither a file or directory nor a job; jobprof help compare says what "
		  "may be there",
		  word->text);
	return 1;
}

/* ---- a baseline */

static bool is_same(const char *a, const char *b)
{
	return !a || !b ? a == b : !strcmp(a, b);
}

static int add_run(struct compare_runs *r, const char *text, const char *dir)
{
	struct compare_word *v, own;

	for (unsigned i = 0; i < r->n; i++)
		if (!strcmp(r->v[i].text, text) && is_same(r->v[i].dir, dir))
			return 0;
	v = realloc(r->v, (r->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->v = v;
	own = (struct compare_word){strdup(text), dir ? strdup(dir) : NULL};
	v[r->n++] = own;
	return own.text && (own.dir || !dir) ? 0 : -ENOMEM;
}

/* job_42.h5 and the node-step files of job 42 are the run "42"; other files are runs by
 * themselves. */
static int add_name(struct compare_runs *r, const char *where, const char *name, const char *step)
{
	_cleanup_free_ char *path = NULL;
	uint32_t job = input_search__job(name);
	size_t len = strlen(name);
	char word[64];

	if (job) {
		snprintf(word, sizeof(word), "%u%.32s", job, step);
		return add_run(r, word, where);
	}
	if (len < 4 || strcmp(name + len - 3, ".h5"))
		return 0;
	if (asprintf(&path, "%s/%s", where, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return add_run(r, path, NULL);
}

static int add_dir(struct compare_runs *r, const char *where, const char *step, bool deeper)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	struct dirent *e;
	int err = dir ? 0 : -errno;

	while (dir && !err && (e = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (*e->d_name == '.')
			continue;
		if (asprintf(&path, "%s/%s", where, e->d_name) < 0) {
			path = NULL;
			err = -ENOMEM;
		} else if (!input_search__is_dir(path)) {
			err = add_name(r, where, e->d_name, step);
		} else if (deeper) {
			err = add_dir(r, path, step, false);
		}
	}
	return err;
}

int compare_runs__add(struct compare_runs *r, const char *word, const char *dir, const char *step)
{
	_cleanup_free_ char *copy = NULL;
	char *rest, *item;
	int err = 0;

	if (input_search__is_dir(word))
		return add_dir(r, word, step, true);
	if (!access(word, F_OK))
		return add_run(r, word, NULL);
	copy = rest = strdup(word);
	if (!copy)
		return -ENOMEM;
	while (!err && (item = strsep(&rest, ",")))
		err = add_run(r, item, access(item, F_OK) ? dir : NULL);
	return err;
}

void compare_runs__free(struct compare_runs *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		free(r->v[i].text);
		free(r->v[i].dir);
	}
	free(r->v);
	*r = (struct compare_runs){0};
}
