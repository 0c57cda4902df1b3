// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the series Bursts, and what BurstLength says of all bursts. */
#include "model/bursts.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/room.h"
#include "hdf5/hdf5.h"
#include "jobfile/select.h"

enum { THREAD, RANK, DURATION, ON_CPU, RUN_TIME, GAP, TIME, N_COLUMNS };

static const char *const names[N_COLUMNS] = {"Thread",	"Rank", "Duration", "OnCPU",
					     "RunTime", "Gap",	"TimeNS"};

struct reading {
	struct model_bursts *b; /* places and threads, and what is kept */
	struct reader *r;
	struct cursor *cursor;
	struct id_table threads, ranks; /* of places and thread ids, of tables and ranks */
	bool asked;			/* for the family burst */
	int at[N_COLUMNS];
	unsigned table;					   /* number of the table that is read */
	uint64_t *key;					   /* of the bursts that are kept */
	uint64_t bound;					   /* their keys are below */
	int (*fn)(void *arg, const struct burst_row *row); /* NULL: bursts are kept */
	void *arg;
	int event_at[BURST_EVENTS]; /* of each of b's events, in the table that is read */
};

static double cell(const struct reading *r, const union cell *row, int column)
{
	int at = r->at[column];

	return at < 0 ? NAN : cell__number(row[at], r->cursor->cols[at].type);
}

/* What is not finite is not known. */
static double known(const struct reading *r, const union cell *row, int column)
{
	double v = cell(r, row, column);

	return isfinite(v) ? v : NAN;
}

/* A counter of 64 bits; NAN: no such counter says that. */
static double count(const union cell *row, int at)
{
	return at >= 0 && row[at].f >= 0 && row[at].f < 0x1p64 ? row[at].f : NAN;
}

/* ---- numbers */

/* Pairs of numbers that are new get the next number. 0 or -ENOMEM. */
static int number_of(struct id_table *t, unsigned a, uint32_t b, unsigned next, unsigned *number)
{
	uint64_t id = id__mix((uint64_t)a << 32 | b, 0);
	const uint32_t *known = id_table__find(t, id);

	*number = known ? *known : next;
	return known || id_table__add(t, id, next) ? 0 : -ENOMEM;
}

static int thread_of(struct reading *r, unsigned place, double tid, unsigned *number)
{
	struct model_bursts *b = r->b;
	bool is_known = tid >= 0 && tid <= UINT32_MAX;
	int err = number_of(&r->threads, place, is_known ? (uint32_t)tid : 0, b->nthreads, number);

	if (err || *number < b->nthreads)
		return err;
	if (room__grow(&b->tids, b->nthreads, 1, sizeof(*b->tids)))
		return -ENOMEM;
	b->tids[b->nthreads++] = is_known ? tid : NAN;
	return 0;
}

/* ---- places */

static int add_place(struct model_bursts *b, const struct reader_node *n, const char *task,
		     int rank)
{
	struct burst_place *p;

	if (room__grow(&b->places, b->nplaces, 1, sizeof(*b->places)))
		return -ENOMEM;
	p = &b->places[b->nplaces++];
	*p = (struct burst_place){strdup(n->step), strdup(n->name), strdup(task), rank};
	b->steps_differ |= strcmp(n->step, b->places->step) != 0;
	b->nodes_differ |= strcmp(n->name, b->places->node) != 0;
	return p->step && p->node && p->task ? 0 : -ENOMEM;
}

/* The place of a rank in the table that is read; of most tables there is one. */
static int place_of(struct reading *r, const struct reader_node *n, const char *task, double rank,
		    unsigned *place)
{
	int wanted = rank >= 0 && rank <= INT_MAX ? (int)rank : -1;
	int err = number_of(&r->ranks, r->table, (uint32_t)wanted, r->b->nplaces, place);

	return err || *place < r->b->nplaces ? err : add_place(r->b, n, task, wanted);
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
	double *v = malloc((b->max + 1) * sizeof(*v));

	if (!v || room__grow(&b->events, b->nevents, 1, sizeof(*b->events)) ||
	    room__grow(&b->counts, b->nevents, 1, sizeof(*b->counts)) ||
	    !(b->events[b->nevents] = strdup(name))) {
		free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->n; i++)
		v[i] = NAN;
	b->counts[b->nevents++] = v;
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
	int err = 0;

	for (unsigned c = 0; !err && c < r->cursor->ncols && b->nevents < BURST_EVENTS; c++)
		if (is_event(&r->cursor->cols[c]) && find_event(b, r->cursor->cols[c].name) < 0)
			err = add_event(b, r->cursor->cols[c].name);
	for (unsigned e = 0; !err && e < b->nevents; e++)
		r->event_at[e] = cursor__column(r->cursor, b->events[e]);
	return err;
}

/* ---- rows */

static int grow_columns(struct reading *r)
{
	struct model_bursts *b = r->b;
	double **const columns[] = {&b->run, &b->wall, &b->on_cpu, &b->gap, &b->end};
	unsigned **const numbers[] = {&b->place, &b->thread};
	size_t max = b->max ? b->max + b->max / 2 : 4096;
	uint64_t *key;

	max = max < BURSTS_KEPT ? max : BURSTS_KEPT;
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
	key = realloc(r->key, max * sizeof(*key));
	if (!key)
		return -ENOMEM;
	r->key = key;
	for (unsigned e = 0; e < b->nevents; e++) {
		double *v = realloc(b->counts[e], max * sizeof(*v));

		if (!v)
			return -ENOMEM;
		b->counts[e] = v;
	}
	b->max = max;
	return 0;
}

static void put_burst(struct reading *r, size_t at, const struct burst_row *row, uint64_t key)
{
	struct model_bursts *b = r->b;

	b->run[at] = row->run;
	b->wall[at] = row->wall;
	b->on_cpu[at] = row->on_cpu;
	b->gap[at] = row->gap;
	b->end[at] = row->end;
	b->place[at] = row->place;
	b->thread[at] = row->thread;
	for (unsigned e = 0; e < b->nevents; e++)
		b->counts[e][at] = row->counts[e];
	r->key[at] = key;
}

static struct burst_row row_of(const struct model_bursts *b, size_t i)
{
	struct burst_row row = {b->run[i], b->wall[i],	b->on_cpu[i], b->gap[i],
				b->end[i], b->place[i], b->thread[i], {0}};

	for (unsigned e = 0; e < b->nevents; e++)
		row.counts[e] = b->counts[e][i];
	return row;
}

/* Half of the bursts that are kept stay. */
static void halve(struct reading *r)
{
	struct model_bursts *b = r->b;
	size_t n = 0;

	r->bound /= 2;
	for (size_t i = 0; i < b->n; i++) {
		const struct burst_row row = row_of(b, i);

		if (r->key[i] < r->bound)
			put_burst(r, n++, &row, r->key[i]);
	}
	b->n = n;
}

/* Which bursts are kept does not depend on their order: those with keys below the largest bound,
 * 2^64 halved again and again, that leaves no more than BURSTS_KEPT. */
static int keep_row(struct reading *r, const struct burst_row *row)
{
	struct model_bursts *b = r->b;
	uint64_t key = id__mix(0, b->all++);

	while (key < r->bound && b->n == BURSTS_KEPT)
		halve(r);
	if (key >= r->bound)
		return 0;
	if (b->n == b->max && grow_columns(r))
		return -ENOMEM;
	put_burst(r, b->n++, row, key);
	return 0;
}

static void note_extremes(struct model_bursts *b, const struct burst_row *row)
{
	const double v[] = {row->run, row->gap > 1e-9 ? row->gap : NAN, row->wall};

	for (int i = 0; i < 3; i++) {
		if (!(v[i] > 0))
			continue;
		b->least[i] = fmin(b->least[i], v[i]);
		b->most[i] = fmax(b->most[i], v[i]);
	}
	b->long_s += row->run;
	b->first_s = fmin(b->first_s, row->end - row->wall);
}

static int add_row(struct reading *r, const struct reader_node *n, const char *task,
		   const union cell *cells)
{
	struct model_bursts *b = r->b;
	double ns = known(r, cells, TIME);
	struct burst_row row = {
		.run = known(r, cells, RUN_TIME),
		.wall = known(r, cells, DURATION),
		.on_cpu = known(r, cells, ON_CPU),
		.gap = known(r, cells, GAP),
	};
	int err = place_of(r, n, task, cell(r, cells, RANK), &row.place);

	if (!err)
		err = thread_of(r, row.place, cell(r, cells, THREAD), &row.thread);
	if (err || !(row.run >= 0) || !(row.wall >= 0) || isnan(ns))
		return err; /* or no burst */
	if (isnan(b->start_ns))
		b->start_ns = ns;
	row.end = (ns - b->start_ns) / 1e9;
	for (unsigned e = 0; e < b->nevents; e++)
		row.counts[e] = count(cells, r->event_at[e]);
	if (!r->fn) {
		note_extremes(b, &row);
		return keep_row(r, &row);
	}
	row.end -= b->first_s;
	return r->fn(r->arg, &row);
}

static int read_table(struct reading *r, const struct reader_node *n, const struct reader_series *s,
		      const char *table)
{
	const union cell *rows;
	unsigned got;
	int err = cursor__open(r->cursor, n, s, table);

	r->table++;
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

/* Whether the name of n characters is in a list, "A, B; ...". */
static bool is_listed(const char *list, const char *name, size_t n)
{
	for (const char *next; list; list = next ? next + strlen(", ") : NULL) {
		if (!strncmp(list, name, n) && strchr(",;", list[n]))
			return true;
		next = strstr(list, ", ");
	}
	return false;
}

/* Whether one of the regions that bursts end at paused: "; REGION paused ...". */
static bool calls_paused(const char *list)
{
	const char *name = list, *end;

	while ((name = strstr(name, "; "))) {
		name += strlen("; ");
		end = strstr(name, " paused ");
		if (end && is_listed(list, name, (size_t)(end - name)))
			return true;
	}
	return false;
}

/* "probes: 5.2 us each time; bursts end at REGION; REGION paused 2 times, ..."; see
 * probed_regions__text(). */
static void read_regions(struct model_bursts *b, const struct reader_node *n)
{
	static const char ends[] = "; bursts end at ";
	struct reader_attr regions;
	const char *from;

	if (reader__attr(n, "Regions", &regions) || regions.type != ATTR_STR)
		return;
	from = strstr(regions.str, ends);
	b->ends_at_calls |= from != NULL;
	b->calls_paused |= from && calls_paused(from + strlen(ends));
	from = strstr(regions.str, "; ");
	if (!b->paused && from && strstr(from, " paused "))
		b->paused = strdup(from + 2);
	free(regions.str);
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
	if (!err && s) {
		read_kind(r->b, n);
		read_regions(r->b, n);
	}
	for (unsigned i = 0; !err && s && i < s->tables.n; i++)
		err = read_table(r, n, s, s->tables.v[i]);
	if (!err && length)
		err = read_length(r, n, length);
	cursor__close(r->cursor);
	reader_node__free(n);
	return err;
}

static int read_file(struct reading *r, const char *path, const struct selection *sel)
{
	static const struct selection all = {0};
	_cleanup_free_ struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = reader__open(&r->r, path);

	if (!err)
		err = cursor__new(&r->cursor);
	if (!err)
		err = select__nodes(r->r, sel ? sel : &all, &refs, &n);
	if (!err && !n && sel && sel->nsteps)
		err = -ESRCH;
	for (unsigned i = 0; !err && i < n; i++)
		err = read_node(r, refs[i].step, refs[i].node);
	if (r->cursor)
		cursor__free(r->cursor);
	reader__free(r->r);
	id_table__free(&r->threads);
	id_table__free(&r->ranks);
	free(r->key);
	return err;
}

int model_bursts__read(struct model_bursts *b, const char *path, const struct selection *sel)
{
	struct reading r = {.b = b, .bound = UINT64_MAX};
	int err;

	*b = (struct model_bursts){.path = path,
				   .sel = sel,
				   .cpi_width = NAN,
				   .start_ns = NAN,
				   .first_s = INFINITY,
				   .least = {NAN, NAN, NAN},
				   .most = {NAN, NAN, NAN}};
	err = read_file(&r, path, sel);
	for (size_t i = 0; i < b->n; i++)
		b->end[i] -= b->first_s;
	if (!err && !b->n)
		return r.asked ? -ERANGE : -ENODATA;
	return err;
}

int model_bursts__each(const struct model_bursts *b,
		       int (*fn)(void *arg, const struct burst_row *row), void *arg)
{
	/* Places and threads are numbered as they were. */
	struct model_bursts again = {.start_ns = b->start_ns, .first_s = b->first_s};
	struct reading r = {.b = &again, .fn = fn, .arg = arg};
	int err = 0;

	if (b->n < b->all) {
		err = read_file(&r, b->path, b->sel);
		model_bursts__free(&again);
		return err;
	}
	for (size_t i = 0; !err && i < b->n; i++) {
		const struct burst_row row = row_of(b, i);

		err = fn(arg, &row);
	}
	return err;
}

unsigned model_bursts__place(const struct model_bursts *b, const char *step, const char *node)
{
	unsigned i = 0;

	while (i < b->nplaces &&
	       (strcmp(b->places[i].step, step) || strcmp(b->places[i].node, node)))
		i++;
	return i;
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
	free(b->tids);
	for (unsigned e = 0; e < b->nevents; e++) {
		free(b->events[e]);
		free(b->counts[e]);
	}
	free(b->events);
	free(b->counts);
	free(b->cpi_kind);
	free(b->paused);
}

void model_bursts__name(const struct model_bursts *b, unsigned place, char *text, size_t size)
{
	const struct burst_place *p = &b->places[place];
	bool steps = b->steps_differ, nodes = b->nodes_differ;
	int at;

	at = snprintf(text, size, "%s%s%stask %s", steps ? "step " : "", steps ? p->step : "",
		      steps ? " " : "", p->task);
	if (p->rank >= 0 && at > 0 && (size_t)at < size)
		at += snprintf(text + at, size - (size_t)at, " rank %d", p->rank);
	if (nodes && at > 0 && (size_t)at < size)
		snprintf(text + at, size - (size_t)at, " on %s", p->node);
}
