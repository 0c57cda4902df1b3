// SPDX-License-Identifier: GPL-2.0-only
/* Reads the series Bursts, and what BurstLength says of all bursts. */
#include "model/bursts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5.h"

enum { THREAD, RANK, DURATION, ON_CPU, RUN_TIME, GAP, TIME, N_COLUMNS };

static const char *const names[N_COLUMNS] = {"Thread",	"Rank", "Duration", "OnCPU",
					     "RunTime", "Gap",	"TimeNS"};

/* Numbers of threads by place and thread id: open addressing. */
struct threads {
	uint64_t *key; /* place, thread id, and 1: used */
	unsigned *number;
	size_t size; /* power of two */
};

struct reading {
	struct model_bursts *b;
	struct reader *r;
	struct cursor *cursor;
	struct threads threads;
	bool asked; /* for the family burst */
	int at[N_COLUMNS];
	int *event_at;	/* of each of b's events, in the table that is read */
	unsigned table; /* first place of the table that is read */
	double start_ns;
};

static double cell(const struct reading *r, const union cell *row, int column)
{
	int at = r->at[column];

	return at < 0 ? NAN : cell__number(row[at], r->cursor->cols[at].type);
}

/* ---- threads */

static size_t look(const struct threads *t, uint64_t key)
{
	size_t at = key * 0x9E3779B97F4A7C15ull >> 20 & (t->size - 1);

	while (t->key[at] && t->key[at] != key)
		at = (at + 1) & (t->size - 1);
	return at;
}

static int grow_threads(struct threads *t)
{
	struct threads to = {.size = t->size ? 2 * t->size : 256};

	to.key = calloc(to.size, sizeof(*to.key));
	to.number = calloc(to.size, sizeof(*to.number));
	if (!to.key || !to.number) {
		free(to.key);
		free(to.number);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->size; i++) {
		size_t at = t->key[i] ? look(&to, t->key[i]) : 0;

		if (!t->key[i])
			continue;
		to.key[at] = t->key[i];
		to.number[at] = t->number[i];
	}
	free(t->key);
	free(t->number);
	*t = to;
	return 0;
}

static int thread_of(struct reading *r, unsigned place, double tid, unsigned *number)
{
	struct threads *t = &r->threads;
	uint64_t key = (uint64_t)place << 32 | ((uint32_t)tid << 1) | 1;
	size_t at;

	if (2 * r->b->nthreads >= t->size && grow_threads(t))
		return -ENOMEM;
	at = look(t, key);
	if (!t->key[at]) {
		t->key[at] = key;
		t->number[at] = r->b->nthreads++;
	}
	*number = t->number[at];
	return 0;
}

/* ---- places */

static int add_place(struct model_bursts *b, const struct reader_node *n, const char *task,
		     int rank)
{
	struct burst_place *p = realloc(b->places, (b->nplaces + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	b->places = p;
	p = &p[b->nplaces++];
	*p = (struct burst_place){strdup(n->step), strdup(n->name), strdup(task), rank};
	return p->step && p->node && p->task ? 0 : -ENOMEM;
}

/* The place of a rank in the table that is read; of most tables there is one. */
static int place_of(struct reading *r, const struct reader_node *n, const char *task, double rank,
		    unsigned *place)
{
	int wanted = isnan(rank) ? -1 : (int)rank;

	for (*place = r->table; *place < r->b->nplaces; ++*place)
		if (r->b->places[*place].rank == wanted)
			return 0;
	return add_place(r->b, n, task, wanted);
}

/* ---- events */

static int find_event(const struct model_bursts *b, const char *name)
{
	for (unsigned e = 0; e < b->nevents; e++)
		if (!strcmp(b->events[e], name))
			return (int)e;
	return -1;
}

/* An event that no burst so far has. */
static int add_event(struct model_bursts *b, const char *name)
{
	char **events = realloc(b->events, (b->nevents + 1) * sizeof(*events));
	double **counts, *v = malloc((b->max + 1) * sizeof(*v));

	if (events)
		b->events = events;
	counts = realloc(b->counts, (b->nevents + 1) * sizeof(*counts));
	if (counts)
		b->counts = counts;
	if (!events || !counts || !v || !(events[b->nevents] = strdup(name))) {
		free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->n; i++)
		v[i] = NAN;
	counts[b->nevents++] = v;
	return 0;
}

static bool is_event(const struct cursor_column *c)
{
	const struct series *s = series__find("Bursts");

	for (unsigned i = 0; i < s->ncols; i++)
		if (!strcmp(s->cols[i].name, c->name))
			return false;
	return c->type == COL_F64 && !c->unknown && !c->array;
}

/* The columns that the schema of Bursts does not have. */
static int find_events(struct reading *r)
{
	struct model_bursts *b = r->b;
	int *at, err = 0;

	for (unsigned c = 0; !err && c < r->cursor->ncols; c++)
		if (is_event(&r->cursor->cols[c]) && find_event(b, r->cursor->cols[c].name) < 0)
			err = b->nevents < JP_PMU_EVENTS * 4 ? add_event(b, r->cursor->cols[c].name)
							     : 0;
	at = err ? NULL : realloc(r->event_at, (b->nevents + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	r->event_at = at;
	for (unsigned e = 0; e < b->nevents; e++)
		at[e] = cursor__column(r->cursor, b->events[e]);
	return 0;
}

/* ---- rows */

static int grow(struct model_bursts *b)
{
	double **const columns[] = {&b->run, &b->wall, &b->on_cpu, &b->gap, &b->end};
	unsigned **const numbers[] = {&b->place, &b->thread};
	size_t max = b->max ? b->max + b->max / 2 : 4096;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		double *v = realloc(*columns[i], max * sizeof(*v));

		if (!v)
			return -ENOMEM;
		*columns[i] = v;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		unsigned *v = realloc(*numbers[i], max * sizeof(*v));

		if (!v)
			return -ENOMEM;
		*numbers[i] = v;
	}
	for (unsigned e = 0; e < b->nevents; e++) {
		double *v = realloc(b->counts[e], max * sizeof(*v));

		if (!v)
			return -ENOMEM;
		b->counts[e] = v;
	}
	b->max = max;
	return 0;
}

static int add_row(struct reading *r, const struct reader_node *n, const char *task,
		   const union cell *row)
{
	struct model_bursts *b = r->b;
	double ns = cell(r, row, TIME);
	size_t i = b->n;
	int err;

	if (i == b->max && grow(b))
		return -ENOMEM;
	err = place_of(r, n, task, cell(r, row, RANK), &b->place[i]);
	if (!err)
		err = thread_of(r, b->place[i], cell(r, row, THREAD), &b->thread[i]);
	if (err)
		return err;
	b->run[i] = cell(r, row, RUN_TIME);
	b->wall[i] = cell(r, row, DURATION);
	b->on_cpu[i] = cell(r, row, ON_CPU);
	b->gap[i] = cell(r, row, GAP);
	for (unsigned e = 0; e < b->nevents; e++)
		b->counts[e][i] = r->event_at[e] < 0 ? NAN : row[r->event_at[e]].f;
	if (!(b->run[i] >= 0) || !(b->wall[i] >= 0) || isnan(ns))
		return 0; /* no burst */
	if (isnan(r->start_ns))
		r->start_ns = ns;
	b->end[i] = (ns - r->start_ns) / 1e9;
	b->n++;
	return 0;
}

static int read_table(struct reading *r, const struct reader_node *n, const struct reader_series *s,
		      const char *table)
{
	const union cell *rows;
	unsigned got;
	int err = cursor__open(r->cursor, n, s, table);

	r->table = r->b->nplaces;
	for (int c = 0; !err && c < N_COLUMNS; c++)
		r->at[c] = cursor__column(r->cursor, names[c]);
	err = err ? err : find_events(r);
	while (!err && (err = cursor__next(r->cursor, &rows, &got)) > 0) {
		err = 0;
		for (unsigned i = 0; !err && i < got; i++)
			err = add_row(r, n, table, rows + (size_t)i * r->cursor->ncols);
	}
	return err;
}

/* Adds a column up. */
static int add_up(struct reading *r, const struct reader_node *n, const struct reader_series *s,
		  const char *table, const char *column, double *sum)
{
	const union cell *rows;
	unsigned got;
	int err = cursor__open(r->cursor, n, s, table), at;

	at = err ? -1 : cursor__column(r->cursor, column);
	while (!err && at >= 0 && (err = cursor__next(r->cursor, &rows, &got)) > 0) {
		err = 0;
		for (unsigned i = 0; i < got; i++)
			*sum += cell__number(rows[(size_t)i * r->cursor->ncols + (unsigned)at],
					     r->cursor->cols[at].type);
	}
	return err;
}

static int read_length(struct reading *r, const struct reader_node *n,
		       const struct reader_series *s)
{
	int err = 0;

	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		err = add_up(r, n, s, s->tables.v[i], "BurstTime", &r->b->all_s);
		if (!err)
			err = add_up(r, n, s, s->tables.v[i], "Lost", &r->b->lost);
	}
	return err;
}

/* How the node's processor counts what its cycles were used for. */
static void read_kind(struct model_bursts *b, const struct reader_node *n)
{
	struct reader_attr kind;
	int64_t width;

	if (b->cpi_kind || reader__attr(n, "CPI Kind", &kind))
		return;
	if (kind.type == ATTR_STR)
		b->cpi_kind = kind.str;
	if (reader_node__i64(n, "Slots per Cycle", &width))
		b->cpi_width = (double)width;
}

static int read_node(struct reading *r, unsigned step, unsigned node)
{
	const struct reader_series *s, *length;
	struct reader_node *n;
	int err = reader__node(r->r, step, node, "Bursts", &n);

	if (err)
		return err;
	err = reader_node__series(n, "BurstLength");
	s = node__series(n, "Bursts");
	length = node__series(n, "BurstLength");
	r->asked |= s || length;
	if (!err && s)
		read_kind(r->b, n);
	for (unsigned i = 0; !err && s && i < s->tables.n; i++)
		err = read_table(r, n, s, s->tables.v[i]);
	if (!err && length)
		err = read_length(r, n, length);
	cursor__close(r->cursor);
	reader_node__free(n);
	return err;
}

/* Times are since the first burst began. */
static void settle_times(struct model_bursts *b)
{
	double first = INFINITY;

	for (size_t i = 0; i < b->n; i++)
		first = fmin(first, b->end[i] - b->wall[i]);
	for (size_t i = 0; i < b->n; i++)
		b->end[i] -= first;
}

int model_bursts__read(struct model_bursts *b, const char *path)
{
	struct reading r = {.b = b, .start_ns = NAN};
	int err;

	memset(b, 0, sizeof(*b));
	b->cpi_width = NAN;
	err = reader__open(&r.r, path);
	if (!err)
		err = cursor__new(&r.cursor);
	for (unsigned s = 0; !err && s < r.r->nsteps; s++)
		for (unsigned n = 0; !err && n < r.r->steps[s].nodes.n; n++)
			err = read_node(&r, s, n);
	if (r.cursor)
		cursor__free(r.cursor);
	reader__free(r.r);
	free(r.event_at);
	free(r.threads.key);
	free(r.threads.number);
	settle_times(b);
	if (!err && !b->n)
		return r.asked ? -ERANGE : -ENODATA;
	return err;
}

void model_bursts__free(struct model_bursts *b)
{
	for (unsigned i = 0; i < b->nplaces; i++) {
		free(b->places[i].step);
		free(b->places[i].node);
		free(b->places[i].task);
	}
	free(b->places);
	free(b->run);
	free(b->wall);
	free(b->on_cpu);
	free(b->gap);
	free(b->end);
	free(b->place);
	free(b->thread);
	for (unsigned e = 0; e < b->nevents; e++) {
		free(b->events[e]);
		free(b->counts[e]);
	}
	free(b->events);
	free(b->counts);
	free(b->cpi_kind);
}

void model_bursts__name(const struct model_bursts *b, unsigned place, char *text, size_t size)
{
	const struct burst_place *p = &b->places[place];
	bool steps = false, nodes = false;
	int at;

	for (unsigned i = 1; i < b->nplaces; i++) {
		steps |= strcmp(b->places[i].step, b->places[0].step) != 0;
		nodes |= strcmp(b->places[i].node, b->places[0].node) != 0;
	}
	at = snprintf(text, size, "%s%s%stask %s", steps ? "step " : "", steps ? p->step : "",
		      steps ? " " : "", p->task);
	if (p->rank >= 0 && at > 0 && (size_t)at < size)
		at += snprintf(text + at, size - (size_t)at, " rank %d", p->rank);
	if (nodes && at > 0 && (size_t)at < size)
		snprintf(text + at, size - (size_t)at, " on %s", p->node);
}
