/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reduces the rows of files, each in a child with limits, whose reductions are merged in the order
 * of the files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io_full.h"
#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/output_file.h"
#include "cmd/jobprof/reduce/reduce.h"
#include "hdf5/hdf5.h"
#include "hdf5/table_columns.h"
#include "model/points.h"
#include "model/symbols.h"
#include "pool/pool.h"

/* ---- parts of a reduction in files, which a later reduction continues */

int reduce_parts__merge(const struct reduce_work *w, struct reduction *r,
			const struct reduction *from, const char *where)
{
	const char *place = NULL;
	int err = reduction__merge(r, from, &place);

	if (err == -EEXIST && w->o->follow)
		log_error("%s: another process has the rows of %s too: start one process per node, "
			  "as with --ntasks-per-node=1",
			  where, place);
	else if (err == -EEXIST)
		log_error("%s: rows of %s are in another file too: name one of them", where, place);
	else if (err == -EINVAL)
		log_error("%s: it is of series %s with a sample of %u rows, others are of %s with "
			  "%u: reduce those apart",
			  where, from->series, from->k, r->series, r->k);
	else if (err)
		log_error("%s: %s", where, payload__strerror(err));
	return err;
}

/* The whole file, to be freed; NULL: errno says why. */
static void *read_bytes(const char *path, size_t *n)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
	if (!S_ISREG(st.st_mode) || st.st_size > PAYLOAD_MAX)
		return NULL;
	*n = (size_t)st.st_size;
	bytes = malloc(*n + 1);
	if (bytes && read_full(fd, bytes, *n) == (ssize_t)*n)
		return bytes;
	free(bytes);
	return NULL;
}

static int add_part(const struct reduce_work *w, const char *path, struct reduction *out)
{
	size_t n = 0;
	_cleanup_free_ void *bytes = read_bytes(path, &n);
	struct reduction r = {0};
	int err = bytes ? payload__read(&r, bytes, n) : errno ? -errno : -EIO;

	if (err)
		log_error("%s: %s", path, payload__strerror(err));
	else
		err = reduce_parts__merge(w, out, &r, path) == -EEXIST ? -EEXIST : 0;
	reduction__free(&r);
	return err;
}

int reduce_parts__add(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out)
{
	for (unsigned i = rank; i < w->parts.n; i += size) {
		int err = add_part(w, w->parts.v[i], out);

		if (err == -EEXIST || err == -ENOMEM)
			return err;
		w->failed |= err != 0;
	}
	return 0;
}

int reduce_parts__keep(const struct reduce_work *w, unsigned rank, struct reduction *r)
{
	static bool is_ours; /* this process has written it, and writes it again with each file */
	_cleanup_free_ char *path = NULL;
	struct message m = {0};
	struct output_file out;
	int err = asprintf(&path, "%s/rank-%u" REDUCE_PART, w->o->keep, rank) < 0 ? -ENOMEM : 0;

	if (err)
		path = NULL;
	if (!err && mkdir(w->o->keep, 0777) && errno != EEXIST) {
		err = -errno;
		log_error("--keep: %s: %s", w->o->keep, strerror(-err));
		return err;
	}
	if (!err)
		err = payload__write(&m, r);
	if (err)
		log_error("--keep: %s", strerror(-err));
	else
		err = output_file__open(&out, path, w->o->keep, is_ours || options__overwrites());
	if (!err) {
		err = write_full(out.fd, m.p, m.len);
		if (err)
			log_error("%s: %s", path, strerror(-err));
		if (output_file__close(&out, !err) && !err)
			err = -EIO;
		is_ours |= !err;
	}
	message__free(&m);
	return err;
}

/* One file. */
struct reading {
	const struct reduce_work *w;
	const char *path;
	const struct reader *r;
	struct cursor *cursor;
	struct symbols *symbols; /* of the second pass of a fold */
	struct reduction *out;
	bool damaged;
	/* These hold for tables of one shape: */
	unsigned shape, n;
	int *from, *to; /* columns of the cursor, and of the reduction */
	double *values;
	struct burst_buffer *bursts; /* with a model */
};

/* Bursts are classified many at a time. */
#define BUFFER_BURSTS 65536

struct burst_buffer {
	double v[BUFFER_BURSTS][MODEL_DIMS];
	unsigned labels[BUFFER_BURSTS];
	size_t n;
};

static void damage(struct reading *d, const struct reader_node *n, const char *table, int err)
{
	log_error("%s: %s%s%s%s%s: %s", d->path, *n->step ? n->step : "", *n->step ? "/" : "",
		  n->name, table ? "/" : "", table ? table : "", reader__strerror(err));
	d->damaged = true;
}

static int add_column(struct reading *d, const struct column *c, int at)
{
	int to;

	if (d->cursor->cols[at].unknown)
		return 0;
	to = reduction__column(d->out, c->name, c->unit ? c->unit : "");
	if (to < 0)
		return to;
	for (unsigned i = 0; i < d->n; i++)
		if (d->to[i] == to)
			return 0;
	d->from[d->n] = at;
	d->to[d->n++] = to;
	return 0;
}

static int add_columns(struct reading *d, const struct table_columns *columns)
{
	const struct string_list *wanted = &d->w->columns;
	int err = 0;

	for (unsigned i = 0; !err && !wanted->n && i < columns->ncols; i++)
		if (columns->cols[i].kind != COL_TIME)
			err = add_column(d, &columns->cols[i], (int)i);
	for (unsigned i = 0; !err && i < wanted->n; i++) {
		int at = cursor__column_like(d->cursor, wanted->v[i]);

		err = at < 0 ? 0 : add_column(d, &columns->cols[at], at);
	}
	return err;
}

static int learn_shape(struct reading *d)
{
	struct table_columns columns = {0};
	size_t n = d->cursor->ncols + 1;
	int err;

	if (d->shape == d->cursor->shape && d->from)
		return 0;
	free(d->from);
	free(d->to);
	free(d->values);
	d->n = 0;
	d->shape = d->cursor->shape;
	d->from = malloc(n * sizeof(*d->from));
	d->to = malloc(n * sizeof(*d->to));
	d->values = malloc(n * sizeof(*d->values));
	if (!d->from || !d->to || !d->values)
		return -ENOMEM;
	err = table_columns__read(&columns, d->cursor, d->w->series);
	if (!err)
		err = add_columns(d, &columns);
	table_columns__clear(&columns);
	return err;
}

static int flush_bursts(struct reading *d)
{
	struct burst_buffer *b = d->bursts;
	int err = 0;

	if (b->n && burst_model__classify(d->w->model, b->v[0], b->n, b->labels) != ANALYSIS_OK)
		return -ENOMEM;
	for (size_t i = 0; !err && i < b->n; i++)
		if (b->labels[i] != CLUSTER_UNUSED)
			err = reduce_model__add(d->out, b->v[i], b->labels[i]);
	b->n = 0;
	return err;
}

static int buffer_row(struct reading *d, const union cell *row, const int at[MODEL_DIMS])
{
	double *v = d->bursts->v[d->bursts->n++];

	for (unsigned f = 0; f < MODEL_DIMS; f++)
		v[f] = at[f] < 0 ? NAN : cell__number(row[at[f]], d->cursor->cols[at[f]].type);
	return d->bursts->n == BUFFER_BURSTS ? flush_bursts(d) : 0;
}

static int add_bursts(struct reading *d)
{
	const union cell *rows;
	int at[MODEL_DIMS], got, err = 0;
	unsigned n;

	for (unsigned f = 0; f < MODEL_DIMS; f++)
		at[f] = cursor__column(d->cursor, model_features[f]);
	while (!err && (got = cursor__next(d->cursor, &rows, &n)) != 0) {
		if (got < 0)
			return got;
		for (unsigned i = 0; !err && i < n; i++)
			err = buffer_row(d, rows + (size_t)i * d->cursor->ncols, at);
	}
	return err;
}

static int add_rows(struct reading *d, const struct reduction_table *t)
{
	const union cell *rows;
	uint64_t row = 0;
	unsigned n;
	int got, err = 0;

	while (!err && (got = cursor__next(d->cursor, &rows, &n)) != 0) {
		if (got < 0)
			return got;
		for (unsigned i = 0; !err && i < n; i++, rows += d->cursor->ncols) {
			for (unsigned c = 0; c < d->n; c++)
				d->values[c] = cell__number(rows[d->from[c]],
							    d->cursor->cols[d->from[c]].type);
			err = reduction__row(d->out, t, row++, d->values);
		}
	}
	return err;
}

/* Rows before the damage count. */
static int read_table(struct reading *d, const struct reader_node *n, const struct reader_series *s,
		      const char *name, const char *place)
{
	struct reduction_table t = {place, name, NULL, 0, reduction__unit(place, name)};
	int err = cursor__open(d->cursor, n, s, name);

	if (!err && !d->bursts)
		err = learn_shape(d);
	t.columns = d->to;
	t.n = d->n;
	if (!err)
		err = d->bursts ? add_bursts(d) : add_rows(d, &t);
	if (!err)
		d->out->tables++;
	if (err && err != -ENOMEM && err != -E2BIG) {
		damage(d, n, s->grouped ? name : s->name, err);
		err = 0;
	}
	return err;
}

/* The executions and samples of a node, for a fold. */
static int add_executions(struct reading *d, const struct reader_node *n, const char *place)
{
	struct points p = {0};
	int err = points__read(&p, n, 0);

	if (!err && d->w->folded)
		err = points__name(&p, n, 0, d->symbols);
	if (!err)
		err = points__fill_gaps(&p);
	if (!err)
		err = reduction__place(d->out, place);
	if (!err)
		err = d->w->folded ? reduce_fold__points(d->out, &p, place, d->w->folded)
				   : reduce_fold__lengths(d->out, &p, place, d->w->o->region);
	points__free(&p);
	if (err && err != -ENOENT && err != -ENOMEM && err != -E2BIG) {
		damage(d, n, NULL, err);
		err = 0;
	}
	return err == -ENOENT ? 0 : err;
}

static int read_node(struct reading *d, const struct node_ref *ref)
{
	struct reader_node *n = NULL;
	const struct reader_step *step = &d->r->steps[ref->step];
	const char *series = d->w->o->fold ? NULL : d->w->series;
	int err = reader__node(d->r, ref->step, ref->node, series, &n);
	const struct reader_series *s = err ? NULL : node__series(n, d->w->series);
	char place[600];

	snprintf(place, sizeof(place), "%s%s%s/%s", d->r->job, *d->r->job ? "." : "", step->name,
		 step->nodes.v[ref->node]);
	if (err && err != -ENOMEM) {
		log_error("%s: %s/%s: %s", d->path, step->name, step->nodes.v[ref->node],
			  reader__strerror(err));
		d->damaged = true;
		return 0;
	}
	if (!err && d->w->o->fold)
		err = add_executions(d, n, place);
	else if (!err && s)
		err = reduction__place(d->out, place);
	for (unsigned i = 0; !err && !d->w->o->fold && s && i < s->tables.n; i++)
		if (!s->grouped || select__table(&d->w->sel, s->tables.v[i]))
			err = read_table(d, n, s, s->tables.v[i], place);
	cursor__close(d->cursor);
	reader_node__free(n);
	return err;
}

static int read_nodes(struct reading *d, const struct selection *sel)
{
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = select__nodes(d->r, sel, &refs, &n);

	for (unsigned i = 0; !err && i < n; i++)
		err = read_node(d, &refs[i]);
	free(refs);
	return err;
}

static int read_file_of(const struct reduce_work *w, unsigned file, struct reduction *out)
{
	const struct job_input *in = &w->in.files[file];
	struct reading d = {.w = w, .path = in->path, .out = out};
	struct selection sel = w->sel;
	struct reader *r = NULL;
	int err = reader__open(&r, in->path);

	sel.steps = in->steps;
	sel.nsteps = in->nsteps;
	d.r = r;
	if (!err)
		err = cursor__new(&d.cursor);
	if (!err && w->folded) {
		d.symbols = symbols__new();
		err = d.symbols ? 0 : -ENOMEM;
	}
	if (!err && w->model) {
		d.bursts = calloc(1, sizeof(*d.bursts));
		err = d.bursts ? 0 : -ENOMEM;
	}
	if (!err)
		err = read_nodes(&d, &sel);
	if (!err && d.bursts)
		err = flush_bursts(&d);
	if (err)
		log_error("%s: %s", in->path, reader__strerror(err));
	if (!err)
		err = reduction__file(out, w->list, w->in.nfiles, file, d.damaged);
	cursor__free(d.cursor);
	symbols__free(d.symbols);
	reader__free(r);
	free(d.bursts);
	free(d.from);
	free(d.to);
	free(d.values);
	return err;
}

/* ---- in children */

struct share {
	struct reduce_work *w;
	unsigned rank, size;
};

double reduce_read__cpu_s(void)
{
	static double before;
	static pid_t of;
	struct rusage u;
	double now, since;

	getrusage(RUSAGE_SELF, &u);
	now = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	since = of == getpid() ? now - before : now; /* a child begins at 0 */
	of = getpid();
	before = now;
	return since;
}

/* A file that cannot be read is an empty result. */
static int work_on(void *arg, unsigned item, struct message *result)
{
	const struct share *s = arg;
	struct reduction r;
	struct message m = {0};
	int err = reduction__init(&r, s->w->series, REDUCTION_SEED, s->w->model ? 0 : s->w->o->k);

	if (!err && !read_file_of(s->w, item * s->size + s->rank, &r)) {
		r.cpu_s = reduce_read__cpu_s();
		err = payload__write(&m, &r);
		message__put(result, m.p, m.len);
	}
	message__free(&m);
	reduction__free(&r);
	return err;
}

static int take_result(struct reduce_work *w, struct pool *pool, unsigned file,
		       struct reduction *out)
{
	const char *path = w->in.files[file].path;
	struct reduction r = {0};
	struct message *m = NULL;
	int err = pool__next(pool, &m);

	if (!err && m->at < m->len) {
		err = payload__read(&r, m->p + m->at, m->len - m->at);
		if (err)
			log_error("%s: %s", path, payload__strerror(err));
		else
			err = reduce_parts__merge(w, out, &r, path);
		reduction__free(&r);
		return err;
	}
	w->failed = true;
	if (err == -EBADMSG || err == -ETIME || err == -EOWNERDEAD) {
		log_error("%s: %s", path,
			  err == -ETIME	       ? "reading takes too long"
			  : err == -EOWNERDEAD ? "a program that read this was killed"
					       : "damaged: reading it crashed");
		return 0;
	}
	if (err == -EINTR)
		pool__follow_signal();
	if (err)
		log_error("%s: %s", path, strerror(-err));
	return err;
}

int reduce_read__files(struct reduce_work *w, unsigned rank, unsigned size, struct reduction *out)
{
	struct share s = {w, rank, size};
	unsigned n = w->in.nfiles > rank ? (w->in.nfiles - rank - 1) / size + 1 : 0;
	const struct pool_work work = {.work = work_on, .arg = &s, .nitems = n};
	struct pool *pool = NULL;
	int err = w->in.nfiles ? reduction__list(out, w->list, w->in.nfiles) : 0;

	if (!err && n)
		err = pool__start(&pool, &work, 1, &POOL_STREAM);
	if (err)
		log_error("files cannot be read: %s", strerror(-err));
	for (unsigned i = 0; !err && i < n; i++) {
		err = take_result(w, pool, i * size + rank, out);
		if (!err && w->o->keep && !w->model)
			err = reduce_parts__keep(w, rank, out);
	}
	pool__free(pool);
	return err;
}
