/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of programs that samples were in. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/room.h"
#include "bpf/jobprof.h"
#include "hdf5/cursor.h"
#include "hdf5/hdf5.h"
#include "model/points.h"
#include "model/symbols.h"

/* ---- when the threads that have samples woke up: the tables of Bursts */

#define BURSTS_OF_SAMPLE 16 /* that are read where there is room for so many samples */

static int by_thread(const void *a, const void *b)
{
	const struct point_burst *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

enum { TIME, THREAD, DURATION, GAP, COLUMNS };

static bool find_columns(const struct cursor *c, int *at)
{
	static const char *const names[COLUMNS] = {"TimeNS", "Thread", "Duration", "Gap"};

	for (int k = 0; k < COLUMNS; k++) {
		at[k] = cursor__column(c, names[k]);
		if (at[k] < 0)
			return false;
	}
	return true;
}

static void add_row(struct points *p, const struct cursor *c, const union cell *row, const int *at,
		    unsigned node)
{
	double v[COLUMNS], end_s;

	for (int k = 0; k < COLUMNS; k++)
		v[k] = c->cols[at[k]].unknown ? NAN : cell__number(row[at[k]], c->cols[at[k]].type);
	end_s = (v[TIME] - p->clock_ns) / 1e9;
	if (isfinite(end_s) && v[DURATION] >= 0 && isfinite(v[THREAD]))
		p->bursts[p->nbursts++] = (struct point_burst){.node = node,
							       .thread = v[THREAD],
							       .begin_s = end_s - v[DURATION],
							       .gap_s = v[GAP]};
}

static int add_rows(struct points *p, struct cursor *c, unsigned node)
{
	const size_t most = p->rows_max ? p->rows_max * BURSTS_OF_SAMPLE : POINT_ROWS_MAX;
	struct point_burst *more;
	const union cell *rows;
	int at[COLUMNS], err;
	unsigned n;

	if (!find_columns(c, at))
		return 0;
	if (c->nrows > most || p->nbursts + c->nrows > most)
		return -EMSGSIZE;
	more = realloc(p->bursts, (p->nbursts + c->nrows + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->bursts = more;
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; i < n; i++)
			add_row(p, c, rows + (size_t)i * c->ncols, at, node);
	return err;
}

static void drop_bursts(struct points *p)
{
	free(p->bursts);
	p->bursts = NULL;
	p->nbursts = 0;
	p->many_bursts = true;
}

int points__read_bursts(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *s = node__series(n, "Bursts");
	size_t before = p->nbursts;
	struct cursor *c = NULL;
	double steps;
	int err;

	if (!s || !s->grouped || p->many_bursts || isnan(p->clock_ns))
		return 0;
	if (node__number(n, "Clock Steps", &steps) && steps > 0)
		return 0; /* the wall clock does not tell when they were */
	err = cursor__new(&c);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = add_rows(p, c, number);
	}
	cursor__free(c);
	if (err == -EMSGSIZE) {
		drop_bursts(p);
		return 0;
	}
	if (p->nbursts > before)
		qsort(p->bursts + before, p->nbursts - before, sizeof(*p->bursts), by_thread);
	return err;
}

#define FUNCTIONS_MAX (1u << 20)
#define FEWER	      4 /* times the samples of the process with most: it may be no rank */

/* The samples of a process, which is of one task. */
struct process {
	size_t from, to;
	double task;
};

struct naming {
	struct points *p;
	struct symbols *symbols;
	struct process *processes;
	size_t n;
	struct id_table known; /* functions by their names */
};

static int find_processes(struct naming *w, unsigned node)
{
	const struct points *p = w->p;
	size_t at = p->npoints;

	while (at && p->points[at - 1].thread.node == node)
		at--;
	w->processes = calloc(p->npoints - at + 1, sizeof(*w->processes));
	for (; w->processes && at < p->npoints; at++) {
		const struct point *now = &p->points[at];
		struct process *last = w->n ? &w->processes[w->n - 1] : NULL;

		if (!last || p->points[last->from].thread.process != now->thread.process)
			w->processes[w->n++] = (struct process){at, at, now->task};
		w->processes[w->n - 1].to = at + 1;
	}
	return w->processes ? 0 : -ENOMEM;
}

static size_t size_of(const struct process *p)
{
	return p->to - p->from;
}

static int by_size(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (size_of(x) < size_of(y)) - (size_of(x) > size_of(y));
}

/*
 * The processes of a task that execute its program, to the front of of[], which the caller gives
 * room for w->n: as many as it has ranks of that program, of those with most samples, if they have
 * more than half of the samples together. Returns how many.
 */
static size_t main_processes(const struct naming *w, double task, size_t ranks, struct process *of)
{
	size_t n = 0, all = 0, sum = 0, k = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->processes[i].task == task) {
			of[n++] = w->processes[i];
			all += size_of(&w->processes[i]);
		}
	qsort(of, n, sizeof(*of), by_size);
	while (k < n && k < ranks && FEWER * size_of(&of[k]) >= size_of(&of[0]))
		sum += size_of(&of[k++]);
	return 2 * sum > all ? k : 0;
}

static int function_number(struct naming *w, const char *name, unsigned *number)
{
	struct points *p = w->p;
	uint64_t id = id__of_text(name);
	uint32_t *have = id_table__find(&w->known, id);

	*number = have ? *have : 0;
	if (have || p->nfunctions == FUNCTIONS_MAX - 1)
		return 0;
	if (room__grow(&p->functions, p->nfunctions, 1, sizeof(*p->functions)))
		return -ENOMEM;
	p->functions[p->nfunctions] = strdup(name);
	if (!p->functions[p->nfunctions])
		return -ENOMEM;
	*number = ++p->nfunctions;
	return id_table__add(&w->known, id, *number) ? 0 : -ENOMEM;
}

static int name_process(struct naming *w, const struct process *of, const char *module)
{
	int err = 0;

	for (size_t i = of->from; !err && i < of->to; i++) {
		struct point *at = &w->p->points[i];
		const char *name;
		uint64_t offset;

		if (!at->place || at->place & JP_PLACE_LIBRARY)
			continue;
		if (!symbols__offset(w->symbols, module, at->place, &offset))
			continue;
		name = symbols__name(w->symbols, module, offset);
		if (!name)
			return -ENOMEM;
		if (name[0] != '[') /* in the file, and not known where */
			err = function_number(w, name, &at->function);
	}
	return err;
}

/* What the table of a task says that it executes: "BUILDID PATH". NULL: it does not. */
static char *program_of(struct cursor *c, const struct reader_node *n,
			const struct reader_series *tasks, const char *table)
{
	_cleanup_free_ char *path = NULL, *id = NULL;
	char *module = NULL;

	if (cursor__open(c, n, tasks, table))
		return NULL;
	path = reader__text(cursor__dataset(c), "Executable");
	id = reader__text(cursor__dataset(c), "Build Id");
	if (path && id && *id && asprintf(&module, "%s %s", id, path) < 0)
		module = NULL;
	return module;
}

/* How many ranks of the node execute it; 1: there are no ranks, or any executes something else. */
static size_t ranks_of(struct cursor *c, const struct reader_node *n, const char *program)
{
	const struct reader_series *ranks = node__series(n, "Ranks");

	for (unsigned i = 0; ranks && ranks->grouped && i < ranks->tables.n; i++) {
		_cleanup_free_ char *one = program_of(c, n, ranks, ranks->tables.v[i]);

		if (!one || strcmp(one, program) != 0)
			return 1;
	}
	return ranks && ranks->grouped && ranks->tables.n ? ranks->tables.n : 1;
}

static int name_task(struct naming *w, struct cursor *c, const struct reader_node *n,
		     const struct reader_series *tasks, const char *table)
{
	_cleanup_free_ struct process *of = calloc(w->n + 1, sizeof(*of));
	_cleanup_free_ char *program = program_of(c, n, tasks, table);
	size_t k = 0;
	int err = of ? 0 : -ENOMEM;

	if (of && program)
		k = main_processes(w, strtod(table, NULL), ranks_of(c, n, program), of);
	for (size_t i = 0; !err && i < k; i++)
		err = name_process(w, &of[i], program);
	return err;
}

int points__name(struct points *p, const struct reader_node *n, unsigned number,
		 struct symbols *symbols)
{
	const struct reader_series *tasks = node__series(n, "Tasks");
	struct naming w = {.p = p, .symbols = symbols};
	struct cursor *c = NULL;
	int err = find_processes(&w, number);

	for (unsigned i = 0; i < p->nfunctions && !err; i++)
		err = id_table__add(&w.known, id__of_text(p->functions[i]), i + 1) ? 0 : -ENOMEM;
	if (!err)
		err = cursor__new(&c);
	for (unsigned i = 0; !err && tasks && tasks->grouped && i < tasks->tables.n; i++)
		err = name_task(&w, c, n, tasks, tasks->tables.v[i]);
	cursor__free(c);
	id_table__free(&w.known);
	free(w.processes);
	return err;
}
