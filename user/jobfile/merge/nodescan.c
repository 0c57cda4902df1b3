/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads everything in a node: makes a digest of every attribute and table, and totals of its rows.
 */
#include "jobfile/merge/nodescan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_note.h"
#include "base/room.h"
#include "hdf5/cursor.h"
#include "hdf5/digest.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"
#include "hdf5/summary.h"
#include "hdf5/table_columns.h"

struct nodescanner {
	struct digester *digester;
	struct cursor *cursor;
	struct nodescan scan;
	struct nodescan_total *totals;
	unsigned ntotals;
	uint64_t file_size; /* of the group read last */
};

/* Remembers what an error is about; returns err. */
static int fail(struct nodescan *n, int err, const char *a, const char *b, const char *trouble)
{
	snprintf(n->object, sizeof(n->object), "%s%s%s", a ? a : "", a && b ? "/" : "", b ? b : "");
	n->trouble = trouble;
	return err;
}

/* ---- what the attributes of a node say of its step and its job */

const struct job_attr_info job_attrs[JOB_ATTRS] = {
	[JOB_USER] = {"User", false},
	[JOB_UID] = {"UID", true},
	[JOB_CLUSTER] = {"Cluster", false},
	[JOB_NAME] = {"Job Name", false},
	[JOB_ACCOUNT] = {"Account", false},
	[JOB_PARTITION] = {"Partition", false},
	[JOB_SLUID] = {"SLUID", false},
	[JOB_ARRAY_JOB] = {"Array Job Id", true},
	[JOB_ARRAY_TASK] = {"Array Task Id", true},
	[JOB_HET_JOB] = {"Het Job Id", true},
	[JOB_HET_OFFSET] = {"Het Job Offset", true},
	[JOB_RESTART] = {"Restart Count", true},
	[JOB_START] = {"Job Start EpochTime", true},
};

static bool read_text(hid_t attr, hid_t type, char *to, size_t size)
{
	char *text;

	*to = 0;
	if (h5__get_text(attr, type, size - 1, &text))
		return false;
	strcpy(to, text);
	free(text);
	return *to != 0;
}

static bool read_number(hid_t attr, hid_t type, int64_t *v)
{
	return H5Tget_class(type) == H5T_INTEGER && H5Aread(attr, H5T_NATIVE_INT64, v) >= 0;
}

/* Reads a number of nodes or tasks; one that no job has is not known. */
static bool read_count(hid_t attr, hid_t type, int64_t *v)
{
	return read_number(attr, type, v) && *v >= 0 && *v <= INT32_MAX;
}

static int take_unknown_columns(struct nodescan *n, hid_t attr, hid_t type)
{
	int err = n->unknown ? 0 : h5__get_text(attr, type, JOURNAL_STR_MAX, &n->unknown);

	return err == -ENOMEM ? err : 0;
}

static void take_step_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	struct node_info *info = &n->info;
	int64_t v = -1;

	if (!strcmp(name, "Step Node List")) {
		read_text(attr, type, n->nodelist, sizeof(n->nodelist));
	} else if (!strcmp(name, "Nodes in Step") && read_count(attr, type, &v)) {
		info->nodes = v;
	} else if (!strcmp(name, "Number of Tasks") && read_count(attr, type, &v)) {
		info->tasks = v;
	} else if (!strcmp(name, "Start TimeNS") && read_number(attr, type, &v)) {
		info->start_s = v / 1000000000;
	} else if (!strcmp(name, "Baseline")) {
		info->late = true;
	}
}

static void take_job_attr(struct node_info *info, const char *name, hid_t attr, hid_t type)
{
	for (unsigned i = 0; i < JOB_ATTRS; i++) {
		struct job_attr_value *v = &info->attrs[i];

		if (!strcmp(name, job_attrs[i].name))
			v->known = job_attrs[i].number
					   ? read_number(attr, type, &v->i)
					   : read_text(attr, type, v->text, sizeof(v->text));
	}
}

/* Takes what an attribute of the node says. 0 or -ENOMEM. */
static int node_info_take_attr(struct nodescan *n, const char *name, hid_t attr, hid_t type)
{
	hid_t space = H5Aget_space(attr);
	const bool one_value = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;

	if (space >= 0)
		H5Sclose(space);
	if (!one_value)
		return 0;
	if (!strcmp(name, "Unknown Columns"))
		return take_unknown_columns(n, attr, type);
	take_step_attr(n, name, attr, type);
	take_job_attr(&n->info, name, attr, type);
	return 0;
}

/* ---- totals of a node that has none, from the rows of its tables */

/* One table on its way to a row of totals. */
struct sum {
	struct table_columns columns;
	bool *unknown;
	struct summary_cell *cells;
	unsigned ncols;
	unsigned shape;
	int elapsed, epoch; /* columns, or below 0 */
};

static void sum_free(struct sum *s)
{
	table_columns__clear(&s->columns);
	free(s->unknown);
	free(s->cells);
	*s = (struct sum){0};
}

static int sum_begin(struct sum *s, const struct cursor *c, const char *series)
{
	int err;

	/* What a table stores of its columns may differ from table to table. */
	if (s->columns.builtin && s->shape == c->shape) {
		memset(s->cells, 0, s->ncols * sizeof(*s->cells));
		return 0;
	}
	sum_free(s);
	s->unknown = calloc(c->ncols, sizeof(*s->unknown));
	s->cells = calloc(c->ncols, sizeof(*s->cells));
	if (!s->unknown || !s->cells)
		return -ENOMEM;
	err = table_columns__read(&s->columns, c, series);
	if (err)
		return err;
	s->ncols = c->ncols;
	s->shape = c->shape;
	s->elapsed = cursor__column(c, "ElapsedTime");
	s->epoch = cursor__column(c, "EpochTime");
	for (unsigned i = 0; i < c->ncols; i++)
		s->unknown[i] = c->cols[i].unknown;
	return 0;
}

/* Slurm's files say when the step began only in the difference of two columns. */
static void take_times(struct node_info *f, const struct sum *sum, const union cell *row,
		       bool first)
{
	const int elapsed = sum->elapsed, epoch = sum->epoch;

	if (elapsed < 0 || epoch < 0 || row[epoch].u > INT64_MAX || row[elapsed].u > row[epoch].u)
		return;
	if (first && f->start_s < 0)
		f->start_s = (int64_t)(row[epoch].u - row[elapsed].u);
	if (!first && (int64_t)row[epoch].u > f->end_s)
		f->end_s = (int64_t)row[epoch].u;
}

static int sum_rows(struct nodescanner *s, struct sum *sum)
{
	struct cursor *c = s->cursor;
	const union cell *rows;
	bool first = true;
	unsigned n;
	int err;

	while ((err = cursor__next(c, &rows, &n)) > 0) {
		if (!n)
			continue;
		if (first)
			take_times(&s->scan.info, sum, rows, true);
		first = false;
		summary__rows(sum->cells, sum->columns.cols, sum->unknown, sum->ncols, rows, n);
		take_times(&s->scan.info, sum, rows + (size_t)(n - 1) * c->ncols, false);
	}
	return err;
}

/* The first table decides on the columns; another shape would need another table. */
static int add_row(struct nodescan_total *t, const struct sum *s, const struct reader_series *from,
		   unsigned table)
{
	struct column *cols;
	unsigned ncols;
	bool same;
	int err = summary__columns(s->columns.cols, s->ncols, from->grouped, &cols, &ncols);

	if (err)
		return err;
	same = !t->cols || t->ncols == ncols;
	for (unsigned i = 0; same && t->cols && i < ncols; i++)
		same = !strcmp(t->cols[i].name, cols[i].name);
	if (!t->cols) {
		t->cols = cols;
		t->ncols = ncols;
		t->rows = calloc((size_t)from->tables.n * ncols + 1, sizeof(*t->rows));
	} else {
		summary__free_columns(cols, ncols);
	}
	if (!t->rows)
		return -ENOMEM;
	t->none |= !same;
	if (same)
		summary__fill(s->cells, s->columns.cols, s->ncols, from->grouped,
			      summary__task_number(from->tables.v[table], table),
			      t->rows + (size_t)t->nrows++ * t->ncols);
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const union cell *x = a, *y = b;

	return x->u < y->u ? -1 : x->u > y->u;
}

/* Digests the whole table, which fails where the cursor has left out a column that no profile has,
 * or damaged rows. */
static int check_table(struct nodescanner *s, hid_t group, const struct reader_series *from,
		       const char *table)
{
	struct digest_table t;
	hid_t dset;
	char *path;
	int err;

	if (asprintf(&path, "%s%s%s", from->name, from->grouped ? "/" : "",
		     from->grouped ? table : "") < 0)
		return -ENOMEM;
	dset = digester__open_table(s->digester, group, path);
	free(path);
	if (dset < 0)
		return -EBADMSG;
	err = digester__table(s->digester, dset, s->file_size, &t);
	H5Dclose(dset);
	return err;
}

static const char *trouble_of(int err)
{
	if (h5__missing_filter(err))
		return reader__strerror(err);
	switch (err) {
	case -EMSGSIZE:
		return "claims more rows than the file can hold";
	case -ENODATA:
		return "has rows that were never written";
	case -ENOTSUP:
		return "has no column of numbers";
	default:
		return "rows that cannot be decoded";
	}
}

static int total_series(struct nodescanner *s, const struct reader_node *node,
			const struct reader_series *from, struct nodescan_total *t)
{
	struct sum sum = {0};
	uint64_t rows = 0;
	int err = 0;

	t->name = strdup(from->name);
	if (!t->name)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < from->tables.n; i++) {
		err = cursor__open(s->cursor, node, from, from->tables.v[i]);
		if (!err && s->cursor->others)
			err = check_table(s, node->group, from, from->tables.v[i]);
		if (!err && s->cursor->chunks > s->scan.info.chunks)
			s->scan.info.chunks = s->cursor->chunks;
		rows += err ? 0 : s->cursor->nrows;
		if (!err)
			err = sum_begin(&sum, s->cursor, from->name);
		if (!err)
			err = sum_rows(s, &sum);
		if (!err && s->cursor->gaps)
			err = check_table(s, node->group, from, from->tables.v[i]);
		if (!err)
			err = add_row(t, &sum, from, i);
		if (err && err != -ENOMEM)
			err = fail(&s->scan, -EBADMSG, from->grouped ? from->name : NULL,
				   from->tables.v[i], trouble_of(err));
	}
	t->none |= rows < SUMMARY_ROWS;
	if (!err && from->grouped && t->nrows && t->ncols)
		qsort(t->rows, t->nrows, t->ncols * sizeof(*t->rows), by_task);
	sum_free(&sum);
	return err;
}

static void clear_totals(struct nodescanner *s)
{
	for (unsigned i = 0; i < s->ntotals; i++) {
		summary__free_columns(s->totals[i].cols, s->totals[i].ncols);
		free(s->totals[i].name);
		free(s->totals[i].rows);
	}
	free(s->totals);
	s->totals = NULL;
	s->ntotals = 0;
}

int nodescan__totals(struct nodescanner *s, hid_t group, struct nodescan_total **out, unsigned *n)
{
	const struct nodescan *scan = &s->scan;
	struct reader_node node = {
		.group = group,
		.path = (char *)"",
		.file_bytes = s->file_size,
		.unknown = scan->unknown,
		.is_slurms = reader__is_slurms(group),
	};
	int err = 0;

	clear_totals(s);
	s->totals = calloc(scan->nseries + 1, sizeof(*s->totals));
	if (!s->totals)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < scan->nseries; i++)
		err = total_series(s, &node, &scan->series[i], &s->totals[s->ntotals++]);
	cursor__close(s->cursor);
	*out = s->totals;
	*n = s->ntotals;
	return err;
}

/* ---- the walk through a node */

#define ATTRS_MAX  4096
#define TABLES_MAX 65536
#define TOTALS	   "Totals"

#define MESG_EXTERNAL 7 /* the header message "External Data Files" of the file format */

/* One group on its way to a digest. */
struct walk {
	struct nodescanner *s;
	struct nodescan *n;
	uint64_t *digest;
	const char *group;	    /* its name below the node, NULL: the node itself */
	struct reader_series *into; /* the series that its tables belong to, or NULL */
	bool totals;		    /* it is Totals */
	unsigned children;
	int err;
};

int nodescanner__new(struct nodescanner **out)
{
	struct nodescanner *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (digester__new(&s->digester) || cursor__new(&s->cursor)) {
		nodescanner__free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static void clear_scan(struct nodescanner *s)
{
	struct nodescan *n = &s->scan;

	clear_totals(s);
	for (unsigned i = 0; i < n->nseries; i++) {
		string_list__free(&n->series[i].tables);
		free(n->series[i].name);
	}
	free(n->series);
	free(n->unknown);
	n->series = NULL;
	n->unknown = NULL;
	n->nseries = 0;
	n->info = (struct node_info){
		.body = 1,
		.start_s = -1,
		.end_s = -1,
		.tasks = -1,
		.nodes = -1,
	};
	n->nodelist[0] = n->object[0] = 0;
	n->trouble = "";
}

void nodescanner__free(struct nodescanner *s)
{
	if (!s)
		return;
	clear_scan(s);
	cursor__free(s->cursor);
	digester__free(s->digester);
	free(s);
}

static const char *table_trouble(int err)
{
	if (h5__missing_filter(err))
		return reader__strerror(err);
	switch (err) {
	case -ENOTSUP:
		return "no table of a profile";
	case -EMSGSIZE:
		return "claims more rows than the file can hold";
	case -ENODATA:
		return "has rows that were never written";
	case -ENOMEM:
		return "not enough memory";
	default:
		return "damaged";
	}
}

static herr_t on_attr(hid_t loc, const char *name, const H5A_info_t *info, void *arg)
{
	struct walk *w = arg;
	hid_t attr = H5Aopen(loc, name, H5P_DEFAULT);
	hid_t type = attr < 0 ? H5I_INVALID_HID : H5Aget_type(attr);

	*w->digest = digest__text(*w->digest, name);
	w->err = type < 0 ? -EBADMSG : digester__attr(w->s->digester, attr, w->digest);
	if (!w->err && !w->group)
		w->err = node_info_take_attr(w->n, name, attr, type);
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	if (!w->err && ++w->children > ATTRS_MAX)
		w->err = -EMSGSIZE;
	if (w->err)
		fail(w->n, w->err, w->group, name,
		     w->err == -ENOTSUP ? "an attribute of a kind no profile has"
					: "a damaged attribute");
	return w->err ? -1 : 0;
}

static int add_attrs(struct walk *w, hid_t object)
{
	hsize_t at = 0;

	w->children = 0;
	if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, on_attr, w) >= 0)
		return 0;
	return w->err ? w->err : fail(w->n, -EBADMSG, w->group, NULL, "damaged");
}

/* Totals follow from the rows: their names are in the digest, and opening them would take as long
 * as all the rest. Of a chunked table the header says whether its bytes are in this file: external
 * files have a message in it, virtual tables a heap. */
static bool is_unopened_total(const struct walk *w, const H5O_info_t *obj)
{
	return w->totals && obj->meta_size.obj.index_size && !obj->meta_size.obj.heap_size &&
	       !(obj->hdr.mesg.present & UINT64_C(1) << MESG_EXTERNAL);
}

static int digest_table(struct walk *w, hid_t dset, const char *name)
{
	struct node_info *info = &w->n->info;
	struct digest_table t;
	int err = digester__table(w->s->digester, dset, w->s->file_size, &t);

	if (err)
		return fail(w->n, err == -ENOMEM ? err : -EBADMSG, w->group, name,
			    table_trouble(err));
	if (!w->totals)
		*w->digest = digest__add(*w->digest, &t.digest, sizeof(t.digest));
	if (!w->group && !strcmp(name, COLUMNS_TABLE))
		info->columns = t.digest;
	info->chunks = t.chunks > info->chunks ? t.chunks : info->chunks;
	return 0;
}

/* Slurm's tables have no attributes. */
static int add_table(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	struct walk table = *w;
	hid_t dset;
	int err = w->into ? string_list__append(&w->into->tables, name) : 0;

	if (err || is_unopened_total(w, obj))
		return err;
	read_note__object("%s%s%s", w->group ? w->group : "", w->group ? "/" : "", name);
	dset = digester__open_table(w->s->digester, group, name);
	if (dset < 0)
		return fail(w->n, -EBADMSG, w->group, name, "damaged");
	err = digest_table(w, dset, name);
	table.group = name;
	if (!err && obj->num_attrs)
		err = add_attrs(&table, dset);
	H5Dclose(dset);
	return err;
}

static struct reader_series *add_series(struct nodescan *n, const char *name, bool grouped)
{
	struct reader_series *v;

	if (room__grow(&n->series, n->nseries, 1, sizeof(*n->series)))
		return NULL;
	v = &n->series[n->nseries];
	*v = (struct reader_series){.name = strdup(name), .grouped = grouped};
	if (!v->name)
		return NULL;
	n->nseries++;
	return v;
}

static int add_group(struct walk *w, hid_t node, const char *name);

static int add_child(struct walk *w, hid_t group, const char *name, const H5O_info_t *obj)
{
	struct walk series = *w;

	const bool columns = !w->group && !strcmp(name, COLUMNS_TABLE);

	/* A merge gives equal descriptions to all nodes as one object. */
	if (obj->rc != 1 && !columns)
		return fail(w->n, -EBADMSG, w->group, name, "an object with two names");
	if (!w->group && obj->type != H5O_TYPE_GROUP && !strcmp(name, TOTALS))
		return fail(w->n, -EBADMSG, NULL, name,
			    "not a group, as the totals of a job file are");
	if (obj->type == H5O_TYPE_GROUP && !w->group)
		return add_group(w, group, name);
	if (obj->type != H5O_TYPE_DATASET)
		return fail(w->n, -EBADMSG, w->group, name, "no table of a profile");
	if (w->group || columns)
		return add_table(w, group, name, obj);
	series.into = add_series(w->n, name, false);
	return series.into ? add_table(&series, group, name, obj) : -ENOMEM;
}

static herr_t on_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
	struct walk *w = arg;
	const unsigned of_totals = w->totals ? H5O_INFO_HDR | H5O_INFO_META_SIZE : 0;
	const unsigned fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS | of_totals;
	H5O_info_t obj = {0};

	if (link->type != H5L_TYPE_HARD || !h5__name_ok(name))
		w->err =
			fail(w->n, -EBADMSG, w->group, name, "a link that is no part of a profile");
	else if (++w->children > TABLES_MAX)
		w->err = fail(w->n, -EBADMSG, w->group, NULL, "too many tables");
	else if (H5Oget_info_by_name2(group, name, &obj, fields, H5P_DEFAULT) < 0)
		w->err = fail(w->n, -EBADMSG, w->group, name, "damaged");
	if (w->err)
		return -1;
	/* Whether there are Totals is no part of the body. */
	if (w->group || strcmp(name, TOTALS))
		*w->digest = digest__text(*w->digest, name);
	w->err = add_child(w, group, name, &obj);
	return w->err ? -1 : 0;
}

static int add_links(struct walk *w, hid_t group)
{
	w->children = 0;
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, on_link, w) >= 0)
		return 0;
	return w->err ? w->err : fail(w->n, -EBADMSG, w->group, NULL, "damaged");
}

/* A series of tables; Totals have a digest of their own. */
static int add_group(struct walk *w, hid_t node, const char *name)
{
	struct walk sub = *w;
	hid_t g;
	int err;

	sub.group = name;
	sub.totals = !strcmp(name, TOTALS);
	if (sub.totals) {
		w->n->info.totals = 1;
		sub.digest = &w->n->info.totals;
		sub.into = NULL;
	} else {
		sub.into = add_series(w->n, name, true);
		if (!sub.into)
			return -ENOMEM;
	}
	g = H5Gopen2(node, name, H5P_DEFAULT);
	if (g < 0)
		return fail(w->n, -EBADMSG, NULL, name, "damaged");
	err = add_attrs(&sub, g);
	if (!err)
		err = add_links(&sub, g);
	H5Gclose(g);
	return err;
}

int nodescan__read(struct nodescanner *s, hid_t group, uint64_t file_size, bool decode,
		   struct nodescan **out)
{
	struct walk w = {.s = s, .n = &s->scan, .digest = &s->scan.info.body};
	int err;

	*out = &s->scan;
	clear_scan(s);
	s->file_size = file_size;
	/* Without totals, they are computed from the rows, which shows whether these are whole. */
	digester__decode(s->digester, decode && H5Lexists(group, TOTALS, H5P_DEFAULT) > 0);
	err = add_attrs(&w, group);
	if (!err)
		err = add_links(&w, group);
	return err && err != -ENOMEM ? -EBADMSG : err;
}
