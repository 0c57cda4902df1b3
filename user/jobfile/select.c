/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the steps, nodes, series and tables that a user named. */
#include "jobfile/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "identity/stepname.h"
#include "hdf5/h5util.h"
#include "hdf5/reader.h"

#define RANGES_MAX 4096u

static bool step_wanted(const struct selection *sel, const char *step)
{
	for (unsigned i = 0; i < sel->nsteps; i++)
		if (!stepname__cmp(sel->steps[i], step))
			return true;
	return !sel->nsteps;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct reader *r = arg;
	const struct node_ref *x = a, *y = b;
	const struct reader_step *s = &r->steps[x->step], *t = &r->steps[y->step];
	int order = strcmp(s->name, t->name);

	return order ? order : strcmp(s->nodes.v[x->node], t->nodes.v[y->node]);
}

int select__nodes(const struct reader *r, const struct selection *sel, struct node_ref **out,
		  unsigned *n)
{
	struct node_ref *refs = calloc(r->nnodes + 1, sizeof(*refs));

	if (!refs)
		return -ENOMEM;
	*n = 0;
	for (unsigned i = 0; i < r->nsteps; i++) {
		const struct reader_step *s = &r->steps[i];

		if (!step_wanted(sel, s->name))
			continue;
		for (unsigned k = 0; k < s->nodes.n; k++)
			if (!sel->nodes || hostlist__has(sel->nodes, s->nodes.v[k]))
				refs[(*n)++] = (struct node_ref){i, k};
	}
	if (sel->by_name)
		qsort_r(refs, *n, sizeof(*refs), by_name, (void *)r);
	*out = refs;
	return 0;
}

static const char *missing_step(const struct reader *r, const struct selection *sel)
{
	for (unsigned i = 0; i < sel->nsteps; i++) {
		unsigned k = 0;

		while (k < r->nsteps && stepname__cmp(sel->steps[i], r->steps[k].name))
			k++;
		if (k == r->nsteps)
			return sel->steps[i];
	}
	return NULL;
}

static int compare(const void *key, const void *item)
{
	return strcmp(key, *(char *const *)item);
}

static void mark_nodes(const struct reader_step *s, const struct string_list *l, bool *there)
{
	for (unsigned i = 0; i < s->nodes.n; i++) {
		char **at = bsearch(s->nodes.v[i], l->v, l->n, sizeof(*l->v), compare);

		if (at)
			there[at - l->v] = true;
	}
}

static const char *missing_node(const struct reader *r, const struct selection *sel)
{
	const struct string_list *l = sel->nodes;
	const char *name = NULL;
	bool *there;

	if (!l || !l->n)
		return NULL;
	there = calloc(l->n, sizeof(*there));
	if (!there)
		return l->v[0];
	for (unsigned i = 0; i < r->nsteps; i++)
		if (step_wanted(sel, r->steps[i].name))
			mark_nodes(&r->steps[i], l, there);
	for (unsigned i = 0; i < l->n && !name; i++)
		name = there[i] ? NULL : l->v[i];
	free(there);
	return name;
}

/* The node that was meant, or NULL. */
static const char *nearest(const struct reader *r, const struct selection *sel, const char *word)
{
	const char *best = NULL;

	for (unsigned i = 0; !best && i < r->nsteps; i++)
		if (step_wanted(sel, r->steps[i].name))
			best = str__nearest(word, (const char *const *)r->steps[i].nodes.v,
					    r->steps[i].nodes.n);
	return best;
}

bool select__missing(const struct reader *r, const struct selection *sel,
		     char missing[static SELECT_MISSING])
{
	const char *step = missing_step(r, sel), *node = step ? NULL : missing_node(r, sel);
	const char *name = step ? stepname__human(step) : node, *near;

	if (!name)
		return false;
	near = step ? NULL : nearest(r, sel, name);
	snprintf(missing, SELECT_MISSING, "there is no %s %.150s%s%.150s%s", step ? "step" : "node",
		 name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	return true;
}

#define SERIES_MAX 256

void select__near_series(const struct reader *r, const char *word, char near[static SELECT_SERIES])
{
	const char *names[SERIES_MAX], *best;
	struct reader_node *node = NULL;
	unsigned n = 0;

	*near = '\0';
	for (unsigned s = 0; s < r->nsteps && !node; s++)
		if (r->steps[s].nodes.n)
			(void)reader__node(r, s, 0, NULL, &node);
	for (; node && n < node->nseries && n < SERIES_MAX; n++)
		names[n] = node->series[n].name;
	best = str__nearest(word, names, n);
	if (best)
		snprintf(near, SELECT_SERIES, "%s", best);
	reader_node__free(node);
}

static bool attr_is(const struct reader_node *n, const char *name, uint32_t v)
{
	const struct reader_attr *a = node__attr(n, name);

	return a && a->type == ATTR_I64 && a->i == v;
}

bool select__part(const struct reader_node *n, const struct jobspec *part)
{
	const struct reader_attr *sluid = node__attr(n, "SLUID");

	if (part->kind == JOBSPEC_SLUID)
		return sluid && sluid->type == ATTR_STR && !strcmp(sluid->str, part->sluid);
	if (part->kind == JOBSPEC_JOB)
		return attr_is(n, "Array Job Id", part->job);
	if (part->kind == JOBSPEC_ARRAY)
		return attr_is(n, "Array Job Id", part->job) &&
		       attr_is(n, "Array Task Id", part->part);
	return attr_is(n, "Het Job Id", part->job) && attr_is(n, "Het Job Offset", part->part);
}

bool select__table(const struct selection *sel, const char *table)
{
	uint64_t task;

	if (sel->table)
		return !strcmp(table, sel->table);
	if (!sel->ntasks)
		return true;
	if (parse_u64(table, &task))
		return false;
	for (unsigned i = 0; i < sel->ntasks; i++)
		if (task >= sel->tasks[i].from && task <= sel->tasks[i].to)
			return true;
	return false;
}

static int by_table(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void select__order(const struct selection *sel, struct reader_series *s)
{
	/* The reader's own order is the natural one. */
	if (sel->by_name && s->tables.n)
		qsort(s->tables.v, s->tables.n, sizeof(*s->tables.v), by_table);
}

/* Returns the spelling that files have of a known series' name, "Tasks" for "Task", and any other
 * name as it is. */
static const char *known_name(const char *name)
{
	const struct series *s = series__find(name);

	if (s)
		return s->name;
	return strcasecmp(name, "Task") ? name : "Tasks";
}

/* Returns where the task's number begins in "Tasks/3", "Task_3" or "RunLatency/3"; NULL: the text
 * has none. */
static const char *task_part(const char *text)
{
	const char *slash = strchr(text, '/');
	uint64_t n;

	if (slash)
		return slash + 1;
	return !strncasecmp(text, "Task_", 5) && !parse_u64(text + 5, &n) ? text + 5 : NULL;
}

/* The tables of such a series are named by the numbers of tasks. */
static bool is_of_tasks(const char *series)
{
	const struct series *s = series__find(series);

	return s && !s->of_node && !s->of_parts;
}

int select__series(const char *text, char *name, size_t len, int64_t *task, const char **table)
{
	const char *number = task_part(text);
	_cleanup_free_ char *copy = NULL;
	uint64_t n;

	*task = -1;
	*table = NULL;
	if (number && !parse_u64(number, &n) && n <= INT64_MAX)
		*task = (int64_t)n;
	else if (number)
		*table = number;
	copy = strndup(text, number ? (size_t)(number - 1 - text) : strlen(text));
	if (!copy)
		return -ENOMEM;
	if (!h5__name_ok(copy) ||
	    (*table && (!h5__name_ok(*table) || is_of_tasks(known_name(copy)))))
		return -EINVAL;
	return str__copy(name, len, known_name(copy));
}

/* "3" or "0-3", of len bytes. */
static int read_range(const char *text, size_t len, struct number_range *r)
{
	char from[48], *to;

	if (len >= sizeof(from))
		return -EINVAL;
	memcpy(from, text, len);
	from[len] = '\0';
	to = strchr(from, '-');
	if (to)
		*to++ = '\0';
	if (parse_u64(from, &r->from) || parse_u64(to ? to : from, &r->to) || r->to < r->from)
		return -EINVAL;
	return 0;
}

int select__tasks(const char *text, struct number_range **out, unsigned *n)
{
	struct number_range *ranges;
	unsigned max = 1, i = 0;
	int err = 0;

	for (const char *p = text; *p; p++)
		max += *p == ',';
	if (max > RANGES_MAX)
		return -E2BIG;
	ranges = calloc(max, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	for (; !err && i < max; i++) {
		size_t len = strcspn(text, ",");

		err = read_range(text, len, &ranges[i]);
		text += len + 1;
	}
	if (err) {
		free(ranges);
		return err;
	}
	*out = ranges;
	*n = max;
	return 0;
}
