/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a job's files, and has the second round of reading it: the attributes of each part, and its
 * time. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/room.h"
#include "hdf5/hdf5.h"
#include "jobfile/select.h"
#include "model/job/job_internal.h"

/* ---- the first round of reading a job: which parts its files have */

int job_list__work(void *reading, unsigned item, struct message *m)
{
	struct job_reading *r = reading;
	const struct job_input *in = &r->inputs[item];
	const struct selection sel = {.nodes = in->nodes, .steps = in->steps, .nsteps = in->nsteps};
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = job_reading__open(r, item);

	if (!err)
		err = select__nodes(r->reader, &sel, &refs, &n);
	message__put(m, &err, sizeof(err));
	if (!err) {
		message__put_text(m, r->reader->job);
		message__put(m, &n, sizeof(n));
		message__put(m, refs, n * sizeof(*refs));
		for (unsigned i = 0; i < n; i++) {
			const struct reader_step *s = &r->reader->steps[refs[i].step];

			message__put_text(m, s->name);
			message__put_text(m, s->nodes.v[refs[i].node]);
			if (r->ninputs > 1)
				job_head__put(r, refs[i].step, refs[i].node, m);
		}
	}
	free(refs);
	return 0;
}

static int add_node(struct model_job *j, const char *name)
{
	struct job_unit *u;

	if (room__grow(&j->nodes, j->nnodes, 1, sizeof(*j->nodes)))
		return -1;
	j->nodes[j->nnodes] = (struct job_node){0};
	u = &j->nodes[j->nnodes].unit;
	*u = (struct job_unit){
		.name = strdup(name), .node = j->nnodes, .begin_s = NAN, .end_s = NAN};
	for (int q = 0; q < N_QUANTITIES; q++)
		u->total[q] = NAN;
	return u->name ? (int)j->nnodes++ : -1;
}

/* The index of the node or step of a name, which is added where it is new; -1: no memory. The one
 * behind `last` is looked at first: nodes of steps have the same order. */
static int node_index(struct model_job *j, const char *name, unsigned last)
{
	for (unsigned i = 1; i <= j->nnodes; i++) {
		unsigned at = (last + i) % j->nnodes;

		if (!strcmp(j->nodes[at].unit.name, name))
			return (int)at;
	}
	return add_node(j, name);
}

static int step_index(struct model_job *j, const char *name)
{
	for (unsigned i = j->nsteps; i-- > 0;)
		if (!strcmp(j->steps[i].name, name))
			return (int)i;
	if (room__grow(&j->steps, j->nsteps, 1, sizeof(*j->steps)))
		return -1;
	j->steps[j->nsteps] =
		(struct job_step){.name = strdup(name), .cpu_s = NAN, .begin_s = NAN, .end_s = NAN};
	return j->steps[j->nsteps].name ? (int)j->nsteps++ : -1;
}

/* Whether an earlier input has that step of that node. Files without the number of a step in their
 * names are not known to be the same. */
static bool is_there(const struct job_reading *r, const struct job_place *p)
{
	for (unsigned i = 0; r->ninputs > 1 && i < r->job->nparts; i++)
		if (r->places[i].input != p->input && r->places[i].of_step == p->of_step &&
		    r->places[i].of_node == p->of_node)
			return *r->job->steps[p->of_step].name;
	return false;
}

/* What a part says that is not read by a round of its own; a failure is the part's trouble. */
static int take_head(struct job_reading *r, struct message *m)
{
	int err = job_head__take(r, r->job->nparts, m);

	if (!err || err == -ENOMEM)
		return err;
	return m->bad ? -EBADMSG : job_part__fail(r, r->job->nparts, err);
}

static int take_place(struct job_reading *r, struct job_place p, struct message *m,
		      unsigned *doubles)
{
	struct model_job *j = r->job;
	struct job_part *part = &j->parts[j->nparts];
	const char *step = message__take_text(m), *node = message__take_text(m);
	int s, d, err;

	if (m->bad)
		return -EBADMSG;
	s = step_index(j, step);
	d = node_index(j, node, j->nparts ? r->places[j->nparts - 1].of_node : 0);
	if (s < 0 || d < 0)
		return -ENOMEM;
	p.of_step = (unsigned)s;
	p.of_node = (unsigned)d;
	*part = (struct job_part){.step = p.of_step,
				  .node = p.of_node,
				  .start_ns = NAN,
				  .end_ns = NAN,
				  .row_s = NAN,
				  .covered_s = NAN};
	err = r->ninputs > 1 ? take_head(r, m) : 0;
	if (err || is_there(r, &p)) {
		job_part__free(part);
		*doubles += !err;
		return err;
	}
	r->places[j->nparts++] = p;
	return 0;
}

static int take_places(struct job_reading *r, unsigned input, const struct node_ref *refs,
		       unsigned n, struct message *m)
{
	struct model_job *j = r->job;
	unsigned doubles = 0;
	int err = 0;

	if (room__grow(&r->places, j->nparts, n, sizeof(*r->places)) ||
	    room__grow(&j->parts, j->nparts, n, sizeof(*j->parts)))
		return -ENOMEM;
	for (unsigned i = 0; !err && i < n; i++)
		err = take_place(r, (struct job_place){input, refs[i].step, refs[i].node, 0, 0}, m,
				 &doubles);
	if (doubles)
		log_warn("%s: %u of its node-steps are in an earlier file, too; they count once",
			 r->inputs[input].path, doubles);
	return err;
}

int job_list__take(struct job_reading *r, unsigned item, struct message *m)
{
	const int *failed = message__take(m, sizeof(*failed));
	const struct node_ref *refs;
	const unsigned *n;
	const char *id;

	if (!failed || *failed)
		return failed ? *failed : -EBADMSG;
	id = message__take_text(m);
	n = message__take(m, sizeof(*n));
	refs = n ? message__take(m, *n * sizeof(*refs)) : NULL;
	if (!refs)
		return -EBADMSG;
	if (r->job->id && *r->job->id && *id && strcmp(r->job->id, id))
		return -EINVAL;
	if (!r->job->id || !*r->job->id) {
		free(r->job->id);
		r->job->id = strdup(id);
	}
	return r->job->id ? take_places(r, item, refs, *n, m) : -ENOMEM;
}

/* ---- the time between rows, and parts whose node had a wrong clock */

#define HOUR_NS	    3600e9
#define DAY_NS	    (24 * HOUR_NS)
#define YEAR_NS	    (365.25 * DAY_NS)
#define TOGETHER_NS (HOUR_NS / 2) /* a step begins on all its nodes in this time */
#define NO_CLOCK_NS 1e18	  /* September 2001: earlier is a clock that was never set */

static bool has_times(const struct job_part *p)
{
	return !p->trouble && !isnan(p->start_ns) && !isnan(p->end_ns);
}

static int cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

#define SAMPLE 512

double job_clock__usual_s(const double *end_s, size_t n, size_t least)
{
	double v[SAMPLE];
	size_t count = 0;

	for (size_t i = 1; i < n && count < SAMPLE; i++)
		if (end_s[i] > end_s[i - 1])
			v[count++] = end_s[i] - end_s[i - 1];
	if (!count || count < least)
		return NAN;
	qsort(v, count, sizeof(*v), cmp);
	return v[count / 2];
}

/* The median; of an even number the lower one, and of clocks that were set where there are some. */
static double median(double *v, size_t n)
{
	size_t unset = 0;

	qsort(v, n, sizeof(*v), cmp);
	while (unset < n && v[unset] < NO_CLOCK_NS)
		unset++;
	unset = unset < n ? unset : 0;
	return v[unset + (n - unset - 1) / 2];
}

/* 0 or -ENOMEM. */
static int set_trouble(struct job_part *p, double off_ns)
{
	double off = fabs(off_ns);
	double unit = off > 2 * YEAR_NS ? YEAR_NS : off > 2 * DAY_NS ? DAY_NS : HOUR_NS;
	const char *name = off > 2 * YEAR_NS ? "years" : off > 2 * DAY_NS ? "days" : "hours";

	if (asprintf(&p->trouble, "the clock of the node is wrong: %.1f %s %s the others",
		     off / unit, name, off_ns < 0 ? "behind" : "ahead of") >= 0)
		return 0;
	p->trouble = NULL;
	return -ENOMEM;
}

/* What is compared: parts of a step, or all, and how far their starts may be apart. */
struct comparison {
	int step; /* -1: all */
	double start_far_ns;
};

static bool is_compared(const struct job_part *p, const struct comparison *c)
{
	return has_times(p) && (c->step < 0 || p->step == (unsigned)c->step);
}

/* room[2 nparts] is for times. 0 or -ENOMEM. */
static int compare(struct model_job *j, const struct comparison *c, double *room)
{
	double *start = room, *end = room + j->nparts, start_ns, end_ns;
	size_t n = 0;
	int err = 0;

	for (unsigned i = 0; i < j->nparts; i++)
		if (is_compared(&j->parts[i], c)) {
			start[n] = j->parts[i].start_ns;
			end[n++] = j->parts[i].end_ns;
		}
	if (n < 2)
		return 0;
	start_ns = median(start, n);
	end_ns = median(end, n);
	for (unsigned i = 0; !err && i < j->nparts; i++) {
		struct job_part *p = &j->parts[i];

		if (!is_compared(p, c))
			continue;
		if (fabs(p->start_ns - start_ns) > c->start_far_ns)
			err = set_trouble(p, p->start_ns - start_ns);
		else if (fabs(p->end_ns - end_ns) > YEAR_NS)
			err = set_trouble(p, p->end_ns - end_ns);
	}
	return err;
}

/* A part that ends before it begins. */
static int find_fallen(struct model_job *j)
{
	for (unsigned i = 0; i < j->nparts; i++) {
		struct job_part *p = &j->parts[i];

		if (!has_times(p) || p->end_ns >= p->start_ns)
			continue;
		p->trouble = strdup("the clock of the node fell: its last row is before its start");
		if (!p->trouble)
			return -ENOMEM;
	}
	return 0;
}

/* Steps of a job may be days apart, but not years. */
int job_clock__judge(struct model_job *j)
{
	double *room = malloc(2 * j->nparts * sizeof(*room));
	int err = room ? find_fallen(j) : -ENOMEM;

	for (unsigned s = 0; !err && s < j->nsteps; s++)
		err = compare(j, &(struct comparison){(int)s, TOGETHER_NS}, room);
	if (!err)
		err = compare(j, &(struct comparison){-1, YEAR_NS}, room);
	free(room);
	return err;
}

/* ---- what is asked of a job: bins, attributes */

const char *const about_attrs[ABOUT_TEXTS] = {
	[ABOUT_PROGRAM] = "Executable",	   [ABOUT_BUILD_ID] = "Build Id",
	[ABOUT_MPI] = "MPI Libraries",	   [ABOUT_GPU] = "GPU Libraries",
	[ABOUT_CPUS] = "Allowed CPU List",
};

const struct job_part *model_job__unread(const struct model_job *j)
{
	for (unsigned i = 0; j->parts && i < j->nparts; i++)
		if (j->parts[i].trouble)
			return &j->parts[i];
	return NULL;
}

const struct model_attr *job_part__attr(const struct job_part *p, const char *name)
{
	for (unsigned i = 0; i < p->nattrs; i++)
		if (!strcmp(p->attrs[i].name, name))
			return &p->attrs[i];
	return NULL;
}

const double *job_unit__bins(const struct job_unit *u, enum quantity q, const struct time_grid *g)
{
	unsigned slot = 0;

	if (!u->bins || !quantity__is_kept(q, u->series))
		return NULL;
	for (int i = 0; i < (int)q; i++)
		slot += quantity__is_kept(i, u->series);
	return u->bins + (size_t)slot * g->n;
}

const float *job_unit__extremes(const struct job_unit *u, enum quantity q)
{
	return extremes__of(&u->extremes, q);
}

const double *job_unit__held(const struct job_unit *u, enum quantity q, const struct time_grid *g)
{
	return u->held ? u->held + (size_t)quantity__held_before(q) * g->n * g->instants : NULL;
}

const struct model_attr *model_job__attr(const struct model_job *j, const char *name)
{
	for (unsigned i = 0; i < j->nparts; i++) {
		const struct model_attr *a = job_part__attr(&j->parts[i], name);

		if (a)
			return a;
	}
	return NULL;
}

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
	double end_s[FIRST_ROWS] = {0};
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
