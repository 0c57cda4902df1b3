/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks jobprofd for bursts again and again, and stores them until their window ends. */
#include "cmd/jobprof/reduce/reduce_feed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "client/bursts.h"
#include "cmd/jobprof/client_conn.h"

/* Where the columns of an answer go. */
struct shape {
	int number, task, time;
	int to[JOBPROF_COLUMNS_MAX]; /* of the feed; -1: none */
};

void feed__free(struct feed *f)
{
	free(f->steps);
	free(f->pending);
}

int feed__step(struct feed *f, const char *name)
{
	struct feed_step *s;

	for (unsigned i = 0; i < f->nsteps; i++)
		if (!strcmp(f->steps[i].name, name))
			return 0;
	s = realloc(f->steps, (f->nsteps + 1) * sizeof(*s));
	if (!s)
		return -ENOMEM;
	f->steps = s;
	s += f->nsteps++;
	*s = (struct feed_step){0};
	str__copy(s->name, sizeof(s->name), name);
	return 0;
}

static int column_of(struct feed *f, const struct jobprof_live_column *c)
{
	unsigned i = 0;

	while (i < f->ncolumns && strcmp(f->columns[i].name, c->name))
		i++;
	if (i == FEED_COLUMNS)
		return -1;
	if (i == f->ncolumns) {
		str__copy(f->columns[i].name, sizeof(f->columns[i].name), c->name);
		str__copy(f->columns[i].unit, sizeof(f->columns[i].unit), c->unit);
		f->ncolumns++;
	}
	return (int)i;
}

static void learn_shape(struct feed *f, const struct jobprof_table *t, struct shape *s)
{
	*s = (struct shape){.number = -1, .task = -1, .time = -1};
	for (unsigned i = 0; i < t->ncols && i < JOBPROF_COLUMNS_MAX; i++) {
		const struct jobprof_live_column *c = &t->columns[i];
		int *at = !strcmp(c->name, "Number")   ? &s->number
			  : !strcmp(c->name, "Task")   ? &s->task
			  : !strcmp(c->name, "TimeNS") ? &s->time
						       : NULL;

		s->to[i] = -1;
		if (at && !c->is_double)
			*at = (int)i;
		else if (strcmp(c->name, "ElapsedTime") && strcmp(c->name, "EpochTime"))
			s->to[i] = column_of(f, c);
	}
}

/* Counts what is missing before this one. Numbers start anew with jobprofd. */
static void note_number(struct feed *f, struct feed_step *s, uint64_t number)
{
	if (s->has_come && number > s->after)
		f->lost += number - s->after - 1;
	s->has_come = true;
	s->after = number;
}

static struct feed_burst *new_burst(struct feed *f)
{
	size_t room = f->room ? 2 * f->room : 1024;
	struct feed_burst *p;

	if (f->n == FEED_PENDING) {
		f->lost++;
		return NULL;
	}
	if (f->n == f->room) {
		p = realloc(f->pending, room * sizeof(*p));
		if (!p) {
			f->err = -ENOMEM;
			return NULL;
		}
		f->pending = p;
		f->room = room;
	}
	return &f->pending[f->n++];
}

static void take_row(struct feed *f, const struct jobprof_table *t, const struct shape *s,
		     const union jobprof_cell *row)
{
	struct feed_burst *b;

	note_number(f, &f->steps[f->now], row[s->number].u);
	if ((int64_t)row[s->time].u < f->start_ns)
		return;
	b = new_burst(f);
	if (!b)
		return;
	b->at_ns = (int64_t)row[s->time].u;
	b->number = row[s->number].u;
	b->step = f->now;
	b->task = (unsigned)row[s->task].u;
	for (unsigned i = 0; i < FEED_COLUMNS; i++)
		b->v[i] = NAN;
	for (unsigned i = 0; i < t->ncols && i < JOBPROF_COLUMNS_MAX; i++)
		if (s->to[i] >= 0)
			b->v[s->to[i]] = t->columns[i].is_double ? row[i].d : (double)row[i].u;
}

static void take_rows(const struct jobprof_table *t, void *arg)
{
	struct feed *f = arg;
	struct shape s;

	learn_shape(f, t, &s);
	if (s.number < 0 || s.task < 0 || s.time < 0)
		return;
	for (unsigned i = 0; !f->err && i < t->nrows; i++)
		take_row(f, t, &s, t->cells + (size_t)i * t->ncols);
}

static int ask_step(struct feed *f, struct feed_step *s)
{
	const char *dot = strchr(s->name, '.');
	char reason[256] = "", number[16];
	uint32_t job;
	int n;

	snprintf(number, sizeof(number), "%.*s", dot ? (int)(dot - s->name) : 0, s->name);
	if (!dot || parse_u32(number, &job))
		return 0;
	n = bursts__ask(job, dot + 1, s->after, CLIENT_CONN_TIMEOUT_MS, take_rows, f, reason,
			sizeof(reason));
	if (n == -ENODATA && !s->has_none)
		log_warn("step %s: %s", s->name, reason);
	s->has_none = n == -ENODATA;
	/* a step may have ended */
	if (n < 0 && n != -ENODATA && n != -ESRCH && n != -ETIMEDOUT)
		return client_conn__failed(n, reason) ? n : 0;
	return 0;
}

int feed__ask(struct feed *f)
{
	int err = 0;

	for (f->now = 0; !err && !f->err && f->now < f->nsteps; f->now++)
		err = ask_step(f, &f->steps[f->now]);
	if (f->err)
		log_error("%s", strerror(-f->err));
	return f->err ? f->err : err;
}

/* ---- windows */

static int add_burst(const struct feed *f, const struct feed_burst *b, const char *host,
		     const int *columns, struct reduction *r)
{
	char place[256], table[16];
	struct reduction_table t = {place, table, columns, f->ncolumns, 0};
	int err;

	snprintf(place, sizeof(place), "%s/%s", f->steps[b->step].name, host);
	snprintf(table, sizeof(table), "%u", b->task);
	t.unit = reduction__unit(place, table);
	err = reduction__place(r, place);
	return err && err != -EEXIST ? err : reduction__row(r, &t, b->number, b->v);
}

static void put_features(const struct feed *f, const struct feed_burst *b, double *v)
{
	for (unsigned d = 0; d < MODEL_DIMS; d++) {
		v[d] = NAN;
		for (unsigned i = 0; i < f->ncolumns; i++)
			if (!strcmp(f->columns[i].name, model_features[d]))
				v[d] = b->v[i];
	}
}

int feed__window(struct feed *f, int64_t end_ns, const char *host, struct reduction *r, double **v,
		 size_t *n)
{
	int columns[FEED_COLUMNS], err = 0;
	size_t later = 0;

	*n = 0;
	*v = malloc((f->n + 1) * MODEL_DIMS * sizeof(**v));
	if (!*v)
		return -ENOMEM;
	for (unsigned i = 0; i < f->ncolumns; i++) {
		columns[i] = reduction__column(r, f->columns[i].name, f->columns[i].unit);
		if (columns[i] < 0)
			return columns[i];
	}
	for (size_t i = 0; !err && i < f->n; i++) {
		const struct feed_burst b = f->pending[i];

		if (b.at_ns >= end_ns) {
			f->pending[later++] = b;
			continue;
		}
		put_features(f, &b, *v + MODEL_DIMS * (*n)++);
		err = add_burst(f, &b, host, columns, r);
	}
	f->n = later;
	return err;
}
