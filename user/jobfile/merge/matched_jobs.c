/* SPDX-License-Identifier: GPL-2.0-only */
/* Which jobs' files the specs of a merge mean: tasks of arrays and components are known by what
 * their files say. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/select.h"
#include "pool/pool.h"

/* In one directory. */
struct search {
	const struct merge_opts *o;
	struct matched_jobs *matched;
	bool *asked; /* of each spec, whether files are asked for it */
	int dir;
	const char *where;
	const struct string_list *names;
};

static int add_matched(struct matched_jobs *w, const struct jobspec *spec, uint32_t job)
{
	struct matched_job *v;

	for (unsigned i = 0; i < w->n; i++)
		if (w->v[i].spec == spec && w->v[i].job == job)
			return 0;
	v = realloc(w->v, (w->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	w->v = v;
	w->v[w->n++] = (struct matched_job){spec, job};
	return 0;
}

/* Which files say that they are of which spec. In a process of its own, which goes on behind a file
 * that brought its forerunner down. */
struct match {
	const struct search *c;
	unsigned at, end; /* names */
	bool *is;	  /* of each name, each spec */
};

static void match_file(struct match *m)
{
	const struct merge_opts *o = m->c->o;
	int fd = merge_file__open(m->c->dir, m->c->names->v[m->at], NULL, NULL);
	struct reader_node *n = NULL;
	struct reader *r = NULL;
	char path[64];

	if (fd < 0)
		return; /* it is named when its job is merged */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!reader__open(&r, path) && !reader__node(r, 0, 0, NULL, &n))
		for (unsigned i = 0; i < o->nspecs; i++)
			m->is[m->at * o->nspecs + i] =
				m->c->asked[i] && select__part(n, &o->specs[i]);
	reader_node__free(n);
	reader__free(r);
	close(fd);
}

/* A live file is complete, too. */
static bool is_file(const char *text, struct merge_name *name)
{
	enum merge_name_kind kind = merge_name__parse(text, name);

	return kind == NAME_FILE || kind == NAME_RUNNING;
}

static int match_files(void *arg)
{
	struct match *m = arg;
	struct merge_name name;

	for (; m->at < m->end; m->at++)
		if (is_file(m->c->names->v[m->at], &name))
			match_file(m);
	return 0;
}

static int take_match(struct search *c, const struct match *m)
{
	const bool *is = (const bool *)(m + 1); /* whatever the child has made of m->is */
	unsigned nspecs = c->o->nspecs;
	struct merge_name name;
	int err = 0;

	for (unsigned i = 0; !err && i < c->names->n * nspecs; i++) {
		if (!is[i])
			continue;
		merge_name__parse(c->names->v[i / nspecs], &name);
		err = add_matched(c->matched, &c->o->specs[i % nspecs], name.job);
	}
	return err;
}

/* Asks files for the specs that c->asked says. */
static int ask_files(struct search *c, unsigned from, unsigned end)
{
	size_t size = sizeof(struct match) + (size_t)c->names->n * c->o->nspecs;
	struct match *m = pool__share(size);
	int err;

	if (!m)
		return -ENOMEM;
	*m = (struct match){.c = c, .at = from, .end = end, .is = (bool *)(m + 1)};
	while ((err = pool__try(match_files, m, &POOL_STREAM)) < 0 && m->at < end) {
		if (err != -EBADMSG && err != -ETIME && err != -EOWNERDEAD)
			break;
		m->at++; /* it is named when its job is merged */
	}
	if (err == -EINTR)
		pool__follow_signal();
	if (err >= 0 || m->at == end)
		err = take_match(c, m);
	else
		log_error("%s: cannot be looked through: %s", c->where, strerror(-err));
	pool__unshare(m, size);
	return err;
}

/*
 * Whether a job's id may be that of an array: Slurm gives it to one of the tasks, too. If there are
 * files of that id, one tells: in most directories no other has to be opened. Not that of an extern
 * step, which has no environment. 1, 0 or -errno.
 */
static int may_be_array(struct search *c, unsigned spec)
{
	unsigned own = c->names->n, others = 0;
	struct merge_name name;
	bool telling = false;
	int err;

	for (unsigned i = 0; i < c->names->n; i++) {
		if (!is_file(c->names->v[i], &name))
			continue;
		if (name.job != c->o->specs[spec].job) {
			others++;
		} else if (!telling) {
			telling = strcmp(stepname__human(name.step), "extern");
			own = i;
		}
	}
	if (!others || own == c->names->n)
		return others > 0;
	c->asked[spec] = true;
	err = ask_files(c, own, own + 1);
	c->asked[spec] = false;
	for (unsigned i = 0; !err && i < c->matched->n; i++)
		if (c->matched->v[i].spec == &c->o->specs[spec])
			return 1;
	return err;
}

static int find_all(struct search *c)
{
	bool *array = calloc(c->o->nspecs + 1, sizeof(*array));
	int err = array ? 0 : -ENOMEM, is;
	bool any = false;

	for (unsigned i = 0; !err && i < c->o->nspecs; i++) {
		bool plain = c->o->specs[i].kind == JOBSPEC_JOB;

		is = !plain ? 1 : c->o->raw ? 0 : may_be_array(c, i);
		err = is < 0 ? is : 0;
		if (!err && plain)
			err = add_matched(c->matched, &c->o->specs[i], c->o->specs[i].job);
		any |= array[i] = is > 0;
	}
	if (!err)
		memcpy(c->asked, array, c->o->nspecs * sizeof(*array));
	free(array);
	return !err && any ? ask_files(c, 0, c->names->n) : err;
}

int matched_jobs__find(struct matched_jobs *w, const struct merge_opts *o, int dir,
		       const char *where, const struct string_list *names)
{
	struct search c = {.o = o, .matched = w, .dir = dir, .where = where, .names = names};
	int err;

	c.asked = calloc(o->nspecs + 1, sizeof(*c.asked));
	err = c.asked ? find_all(&c) : -ENOMEM;
	free(c.asked);
	return err;
}
