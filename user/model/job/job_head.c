/* SPDX-License-Identifier: GPL-2.0-only */
/* How a job's files are opened, and the second round of reading it: what the attributes of each
 * part say, and its time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5.h"
#include "model/job/job_internal.h"

int job_reading__open(struct job_reading *r, unsigned input)
{
	int err = r->cursor ? 0 : cursor__new(&r->cursor);

	if (err)
		r->cursor = NULL;
	if (err || (r->reader && r->input == input))
		return err;
	reader__free(r->reader);
	r->reader = NULL;
	err = reader__open(&r->reader, r->inputs[input].path);
	if (err)
		r->reader = NULL;
	r->input = input;
	return err;
}

void job_reading__close(struct job_reading *r)
{
	cursor__free(r->cursor);
	reader__free(r->reader);
	r->cursor = NULL;
	r->reader = NULL;
}

#define FIRST_ROWS 256 /* of a table, that say what is usual */

struct part_times {
	double start_ns, end_ns;
	uint64_t rows;
	double row_s;	/* the usual time between rows; NaN: not known */
	unsigned tasks; /* tables */
};

static double cell_of(const struct cursor *c, const union cell *row, const char *name)
{
	int at = cursor__column(c, name);

	return at < 0 ? NAN : cell__number(row[at], c->cols[at].type);
}

/* The Unix time of a row in ns. */
static double time_of(const struct cursor *c, const union cell *row)
{
	double ns = cell_of(c, row, "TimeNS");

	return ns > 0 ? ns : cell_of(c, row, "EpochTime") * 1e9;
}

/* Adds the first rows of a table. */
static void add_first_rows(const struct cursor *c, const union cell *rows, unsigned n,
			   struct part_times *t)
{
	double end_s[FIRST_ROWS];
	unsigned count = n < FIRST_ROWS ? n : FIRST_ROWS;

	for (unsigned i = 0; i < count; i++)
		end_s[i] = time_of(c, rows + (size_t)i * c->ncols) / 1e9;
	t->row_s = job_clock__usual_s(end_s, count, 1);
	if (isnan(t->start_ns))
		t->start_ns = time_of(c, rows) - cell_of(c, rows, "ElapsedTime") * 1e9;
}

static int add_table_times(struct cursor *c, struct part_times *t)
{
	const union cell *rows;
	unsigned n;
	int err;

	if (!c->nrows)
		return 0;
	t->rows = c->nrows > t->rows ? c->nrows : t->rows;
	if (isnan(t->start_ns) || isnan(t->row_s)) {
		err = cursor__next(c, &rows, &n);
		if (err <= 0)
			return err;
		add_first_rows(c, rows, n, t);
	}
	cursor__seek(c, c->nrows - 1);
	err = cursor__next(c, &rows, &n);
	if (err > 0)
		t->end_ns = fmax(t->end_ns, time_of(c, rows));
	return err < 0 ? err : 0;
}

/* From the table Step, else from those of the tasks. */
static int read_times(const struct reader_node *n, struct cursor *c, struct part_times *t)
{
	const struct reader_series *s = node__series(n, "Step"), *tasks = node__series(n, "Tasks");
	int err = 0;

	*t = (struct part_times){.start_ns = NAN,
				 .end_ns = NAN,
				 .row_s = NAN,
				 .tasks = tasks && tasks->grouped ? tasks->tables.n : 0};
	node__number(n, "Start TimeNS", &t->start_ns);
	if (!s || s->grouped)
		s = tasks;
	for (unsigned i = 0; !err && s && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = add_table_times(c, t);
	}
	cursor__close(c);
	return err;
}

static void put_attrs(const struct reader_node *n, struct message *m)
{
	message__put(m, &n->nattrs, sizeof(n->nattrs));
	for (unsigned i = 0; i < n->nattrs; i++) {
		const struct reader_attr *a = &n->attrs[i];
		double v = a->type == ATTR_F64 ? a->f : (double)a->i;

		message__put_text(m, a->name);
		message__put(m, &a->type, sizeof(a->type));
		message__put(m, &a->i, sizeof(a->i));
		message__put(m, &v, sizeof(v));
		message__put_text(m, a->type == ATTR_STR ? a->str : "");
	}
}

void job_head__put(struct job_reading *r, unsigned step, unsigned node, struct message *m)
{
	struct reader_node *n = NULL;
	struct part_times t;
	int err = reader__node(r->reader, step, node, NULL, &n);

	if (!err)
		err = read_times(n, r->cursor, &t);
	message__put(m, &err, sizeof(err));
	if (!err) {
		message__put(m, &t, sizeof(t));
		put_attrs(n, m);
	}
	reader_node__free(n);
}

int job_head__work(void *reading, unsigned item, struct message *m)
{
	struct job_reading *r = reading;
	const struct job_place *p = &r->places[item];
	int err = job_reading__open(r, p->input);

	if (err)
		message__put(m, &err, sizeof(err));
	else
		job_head__put(r, p->step, p->node, m);
	return 0;
}

static int take_attr(struct job_part *part, struct message *m)
{
	const char *name = message__take_text(m), *text;
	const enum attr_type *type = message__take(m, sizeof(*type));
	const int64_t *i = message__take(m, sizeof(*i));
	const double *v = message__take(m, sizeof(*v));
	struct model_attr *a = &part->attrs[part->nattrs];

	text = message__take_text(m);
	if (!type || !i || !v || m->bad)
		return -EBADMSG;
	*a = (struct model_attr){
		.name = strdup(name),
		.text = *type == ATTR_STR ? strdup(text) : NULL,
		.is_integer = *type == ATTR_I64,
		.integer = *i,
		.number = *type == ATTR_STR ? NAN : *v,
	};
	part->nattrs++;
	return a->name && (a->text || *type != ATTR_STR) ? 0 : -ENOMEM;
}

int job_head__take(struct job_reading *r, unsigned item, struct message *m)
{
	const int *failed = message__take(m, sizeof(*failed));
	struct job_part *part = &r->job->parts[item];
	const struct part_times *t;
	const unsigned *n;
	int err = 0;

	if (!failed || *failed)
		return failed ? *failed : -EBADMSG;
	t = message__take(m, sizeof(*t));
	n = message__take(m, sizeof(*n));
	if (!t || !n || m->bad || *n > 1u << 20)
		return -EBADMSG;
	part->attrs = calloc(*n + 1, sizeof(*part->attrs));
	if (!part->attrs)
		return -ENOMEM;
	part->start_ns = t->start_ns;
	part->end_ns = t->end_ns;
	part->rows = t->rows;
	part->row_s = t->row_s;
	part->tasks = t->tasks;
	for (unsigned i = 0; !err && i < *n; i++)
		err = take_attr(part, m);
	return err;
}

int job_part__fail(struct job_reading *r, unsigned item, int err)
{
	struct job_part *part = &r->job->parts[item];

	if (part->trouble)
		return 0;
	part->trouble = strdup(err == -ETIME	    ? "reading takes too long"
			       : err == -ERANGE	    ? "the clock of the node jumped"
			       : err == -EOWNERDEAD ? "a program that read this was killed"
						    : reader__strerror(err));
	return part->trouble ? 0 : -ENOMEM;
}

void job_part__free(struct job_part *p)
{
	for (unsigned i = 0; i < p->nattrs; i++) {
		free((char *)p->attrs[i].name);
		free((char *)p->attrs[i].text);
	}
	free(p->attrs);
	free(p->trouble);
}
