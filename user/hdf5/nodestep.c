/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a node-step file from a journal in two passes: its layout, then its rows. */
#include "hdf5/nodestep.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hdf5/columns_table.h"
#include "hdf5/h5util.h"
#include "hdf5/nodestep_layout.h"
#include "hdf5/summary.h"
#include "schema/series.h"

/* ---- the attributes of the node's group and of its tables are written */

static hid_t attr_type(const struct nodestep_attr *a)
{
	hid_t t;

	switch (a->type) {
	case ATTR_I32:
		return H5Tcopy(H5T_STD_I32LE);
	case ATTR_I64:
		return H5Tcopy(H5T_STD_I64LE);
	case ATTR_F64:
		return H5Tcopy(H5T_IEEE_F64LE);
	case ATTR_STR:
		break;
	}
	t = H5Tcopy(H5T_C_S1);
	H5Tset_size(t, strlen(a->str)); /* no room for a NUL, as Slurm does it */
	return t;
}

/* An array of one, as Slurm's are. */
static int write_slurm_attr(hid_t node, const struct nodestep_attr *a)
{
	const hid_t mem[] = {
		[ATTR_I32] = H5T_NATIVE_INT64,
		[ATTR_I64] = H5T_NATIVE_INT64,
		[ATTR_F64] = H5T_NATIVE_DOUBLE,
	};
	hsize_t one = 1;
	hid_t type, space, attr;
	int err = 0;

	type = attr_type(a);
	space = H5Screate_simple(1, &one, NULL);
	attr = H5Acreate2(node, a->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (attr < 0 || H5Awrite(attr, a->type == ATTR_STR ? type : mem[a->type],
				 a->type == ATTR_STR ? (const void *)a->str : &a->value) < 0)
		err = h5__error();
	if (attr >= 0)
		H5Aclose(attr);
	H5Sclose(space);
	H5Tclose(type);
	return err;
}

static int write_attr(hid_t node, const struct nodestep_attr *a)
{
	if (a->type == ATTR_STR && !*a->str)
		return 0;
	if (a->type == ATTR_STR && strcmp(a->name, "Node Name") && strcmp(a->name, "Start Time"))
		return h5__put_text(node, a->name, a->str);
	return write_slurm_attr(node, a);
}

/* Those of a table, in the same shapes. 0 or as h5__error(). */
static int nodestep_attrs_write_table(hid_t dset, const struct nodestep_table *t)
{
	int err = 0;

	for (unsigned i = 0; !err && i < t->attrs.n; i++)
		err = write_attr(dset, &t->attrs.at[i]);
	return err;
}

/* Those of the layout: Slurm's own in the shape that Slurm gives them, other texts as scalars. And
 * what the units of tables mean, and the rows that a torn end has lost. 0 or as h5__error(). */
static int nodestep_attrs_write(hid_t node, const struct nodestep_layout *p)
{
	struct nodestep_attr torn = {
		.name = "Torn Rows",
		.type = ATTR_I64,
		.value.u = p->torn_rows,
	};
	int err =
		h5__put_text(node, "Units",
			     "MiB is 2^20 bytes, KiB is 2^10; MB in the name of a column is MiB.");

	for (unsigned i = 0; !err && i < p->attrs.n; i++)
		err = write_attr(node, &p->attrs.at[i]);
	if (err)
		return err;
	return p->torn_bytes && !nodestep_layout__attr(p, torn.name) ? write_attr(node, &torn) : 0;
}

#define CHUNK_ROWS    128u
#define DEFLATE_LEVEL 4
#define FEW_REPEATS   4 /* tables of the same columns: sharing their type takes as much */
#define BUFFER_MAX    (256u << 20) /* rows held in memory, all tables together */

struct out_table {
	hid_t dset;
	uint64_t rows; /* written */
	unsigned chunk;
	unsigned nbuf; /* rows waiting in buf */
	union cell *buf;
	struct summary_cell *sum;
};

struct out_series {
	hid_t group; /* of its tables */
	hid_t mem;   /* row in memory */
	bool *unknown;
};

struct build {
	const struct nodestep_layout *layout;
	hid_t file;
	hid_t node;
	struct out_series *series;
	struct out_table *tables;
};

/* Equal chunks of at most max rows: the last one wastes no more than it must. */
static unsigned chunk_rows(uint64_t rows, unsigned max)
{
	uint64_t n = (rows + max - 1) / max;

	return n ? (rows + n - 1) / n : 16;
}

/* Every table has a buffer of one chunk: with very many tables the chunks get smaller. */
static unsigned chunk_limit(const struct nodestep_layout *p)
{
	uint64_t row_bytes = 0;
	uint64_t n;

	for (unsigned i = 0; i < p->ntables; i++)
		if (p->tables[i].rows)
			row_bytes += p->series[p->tables[i].series].ncols * sizeof(union cell);
	n = row_bytes ? BUFFER_MAX / row_bytes : CHUNK_ROWS;
	return n > CHUNK_ROWS ? CHUNK_ROWS : n < 1 ? 1 : n;
}

/* Whether a table, or one of totals, has more chunks than the smallest node of an index. */
static bool has_many_chunks(const struct nodestep_layout *p)
{
	const uint64_t few = 2 * (uint64_t)chunk_limit(p);

	for (unsigned i = 0; i < p->ntables; i++)
		if (p->tables[i].rows > few)
			return true;
	for (unsigned i = 0; i < p->nseries; i++)
		if (p->series[i].ntables > 2 * CHUNK_ROWS)
			return true;
	return false;
}

static bool has_repeats(const struct nodestep_layout *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->nseries; i++)
		n += p->series[i].ntables ? p->series[i].ntables - 1 : 0;
	return n > FEW_REPEATS;
}

/*
 * The fapl and fcpl keep the metadata of short steps small: object headers of 1.8, small B-tree
 * nodes. Everything since HDF5 1.8 reads it.
 */
static hid_t create_file(int dir_fd, const char *name, const struct nodestep_layout *p)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
	hid_t file = H5I_INVALID_HID;
	char path[300];

	if ((size_t)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name) >=
	    sizeof(path))
		goto out;
	if (H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0 ||
	    H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) < 0 ||
	    H5Pset_istore_k(fcpl, has_many_chunks(p) ? 4 : 1) < 0 ||
	    (has_repeats(p) && h5__share_types(fcpl)))
		goto out;
#if H5_VERSION_GE(1, 10, 7)
	/* The file is under a name of our own; some shared file systems have no locks. */
	if (H5Pset_file_locking(fapl, false, true) < 0)
		goto out;
#endif
	file = H5Fcreate(path, H5F_ACC_EXCL, fcpl, fapl);
out:
	H5Pclose(fapl);
	H5Pclose(fcpl);
	return file;
}

/* A table as Slurm's packet tables: rank 1, unlimited, compound. */
static hid_t create_table(hid_t at, const char *name, hid_t type, uint64_t rows, unsigned chunk)
{
	hsize_t dims = rows, unlimited = H5S_UNLIMITED, cdims = chunk;
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), dapl = H5Pcreate(H5P_DATASET_ACCESS);
	hid_t space = H5Screate_simple(1, &dims, &unlimited);
	hid_t dset = H5I_INVALID_HID;

	/* Whole chunks are written at once: a cache would only copy them. */
	if (H5Pset_chunk(dcpl, 1, &cdims) >= 0 && H5Pset_shuffle(dcpl) >= 0 &&
	    H5Pset_deflate(dcpl, DEFLATE_LEVEL) >= 0 && H5Pset_obj_track_times(dcpl, false) >= 0 &&
	    h5__plain_attrs(dcpl) >= 0 && H5Pset_chunk_cache(dapl, 1, 0, 1) >= 0)
		dset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, dapl);
	H5Sclose(space);
	H5Pclose(dapl);
	H5Pclose(dcpl);
	return dset;
}

static int write_rows(hid_t dset, hid_t mem_type, uint64_t at, const union cell *rows, unsigned n)
{
	hsize_t start = at, count = n;
	hid_t mem = H5Screate_simple(1, &count, NULL), space = H5Dget_space(dset);
	int err = 0;

	if (mem < 0 || space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dwrite(dset, mem_type, mem, space, H5P_DEFAULT, rows) < 0)
		err = h5__error();
	H5Sclose(space);
	H5Sclose(mem);
	return err;
}

/* Series whose tables differ in columns share their group. */
static hid_t open_group(struct build *b, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(b->layout->series[k].name, b->layout->series[i].name))
			return H5Iinc_ref(b->series[k].group) < 0 ? -1 : b->series[k].group;
	return h5__create_group(b->node, b->layout->series[i].name);
}

static int open_series(struct build *b, unsigned i)
{
	const struct nodestep_series *ps = &b->layout->series[i];
	const struct nodestep_attr *unknown = nodestep_layout__attr(b->layout, "Unknown Columns");
	struct out_series *s = &b->series[i];

	if (!ps->made)
		return 0;
	s->unknown = calloc(ps->ncols, sizeof(*s->unknown));
	if (!s->unknown)
		return -ENOMEM;
	for (unsigned c = 0; unknown && c < ps->ncols; c++)
		s->unknown[c] = h5__in_list(unknown->str, ps->cols[c].name);
	s->mem = h5__row_type(ps->cols, ps->ncols, false);
	s->group = ps->grouped ? open_group(b, i) : b->node;
	return s->mem < 0 || s->group < 0 ? h5__error() : 0;
}

static int open_table(struct build *b, unsigned i, unsigned limit)
{
	const struct nodestep_table *pt = &b->layout->tables[i];
	const struct nodestep_series *ps = &b->layout->series[pt->series];
	struct out_table *t = &b->tables[i];
	hid_t type = h5__row_type(ps->cols, ps->ncols, true);
	int err;

	if (type < 0)
		return h5__error();
	t->chunk = chunk_rows(pt->rows, limit);
	t->dset = create_table(b->series[pt->series].group, pt->name, type, pt->rows, t->chunk);
	H5Tclose(type);
	if (t->dset < 0)
		return h5__error();
	err = nodestep_attrs_write_table(t->dset, pt);
	if (err || !pt->rows)
		return err;
	t->buf = calloc((size_t)t->chunk * ps->ncols, sizeof(*t->buf));
	t->sum = calloc(ps->ncols, sizeof(*t->sum));
	return t->buf && t->sum ? 0 : -ENOMEM;
}

static int flush_table(struct build *b, unsigned i)
{
	const unsigned series = b->layout->tables[i].series;
	const struct nodestep_series *ps = &b->layout->series[series];
	struct out_table *t = &b->tables[i];
	int err;

	if (!t->nbuf)
		return 0;
	summary__rows(t->sum, ps->cols, b->series[series].unknown, ps->ncols, t->buf, t->nbuf);
	err = write_rows(t->dset, b->series[series].mem, t->rows, t->buf, t->nbuf);
	t->rows += t->nbuf;
	t->nbuf = 0;
	return err;
}

/* Peaks of programs are those of all the step. */
static void forget_peak(const struct nodestep_series *ps, union cell *row)
{
	for (unsigned c = 0; !strcmp(ps->name, "Commands") && c < ps->ncols; c++)
		if (!strcmp(ps->cols[c].name, "PeakMB") && ps->cols[c].type == COL_F64)
			row[c].f = NAN;
}

static int put_row(struct build *b, const struct journal_record *rec)
{
	int i = nodestep_layout__row_table(b->layout, rec);
	const struct nodestep_series *ps;
	struct out_table *t;

	/* More than planned: the journal was changed under us. */
	t = i < 0 || !nodestep_layout__is_wanted(b->layout, i, rec) ? NULL : &b->tables[i];
	if (!t || !t->buf || t->rows + t->nbuf >= b->layout->tables[i].rows)
		return 0;
	ps = &b->layout->series[b->layout->tables[i].series];
	memcpy(t->buf + (size_t)t->nbuf * ps->ncols, rec->cells, ps->ncols * sizeof(*t->buf));
	if (b->layout->window)
		forget_peak(ps, t->buf + (size_t)t->nbuf * ps->ncols);
	return ++t->nbuf == t->chunk ? flush_table(b, i) : 0;
}

/* The second pass, over exactly the records the layout was made from. */
static int write_tables(struct build *b, int journal_fd)
{
	struct journal_reader *r;
	struct journal_record rec;
	int err;

	err = journal_reader__open(&r, journal_fd);
	if (err)
		return err;
	for (uint64_t n = 0; !err && n < b->layout->records; n++) {
		err = journal_reader__next(r, &rec);
		if (err <= 0)
			break;
		err = rec.type == J_ROW ? put_row(b, &rec) : 0;
	}
	journal_reader__free(r);
	for (unsigned i = 0; !err && i < b->layout->ntables; i++) {
		err = flush_table(b, i);
		if (!err && b->tables[i].rows != b->layout->tables[i].rows)
			err = -ESTALE;
	}
	return err;
}

struct totals_row {
	uint64_t task;
	unsigned table;
};

static int by_task(const void *a, const void *b)
{
	const struct totals_row *x = a, *y = b;

	return x->task < y->task ? -1 : x->task > y->task;
}

static struct totals_row *totals_order(const struct build *b, unsigned series)
{
	struct totals_row *rows = calloc(b->layout->series[series].ntables + 1, sizeof(*rows));
	unsigned n = 0;

	for (unsigned i = 0; rows && i < b->layout->ntables; i++) {
		if (b->layout->tables[i].series != series || !b->layout->tables[i].made)
			continue;
		rows[n].task = summary__task_number(b->layout->tables[i].name, n);
		rows[n++].table = i;
	}
	if (rows)
		qsort(rows, n, sizeof(*rows), by_task);
	return rows;
}

/* Marks and stacks are numbers of names; tables in one group with columns of their own have no
 * common row; and few rows are as fast to read as a row of totals, of which the description alone
 * takes more bytes. */
static bool has_totals(const struct nodestep_series *ps)
{
	return strcmp(ps->name, "User") && strcmp(ps->name, "Marks") &&
	       strcmp(ps->name, "Stacks") && strcmp(ps->name, "CallTree") &&
	       ps->rows >= SUMMARY_ROWS;
}

static int write_totals(const struct build *b, hid_t group, unsigned series)
{
	const struct nodestep_series *ps = &b->layout->series[series];
	struct totals_row *order = totals_order(b, series);
	union cell *rows = NULL;
	struct column *cols = NULL;
	unsigned ncols = 0;
	hid_t file = H5I_INVALID_HID, mem = H5I_INVALID_HID, dset = H5I_INVALID_HID;
	int err;

	err = summary__columns(ps->cols, ps->ncols, ps->grouped, &cols, &ncols);
	if (err || !ncols)
		goto out;
	rows = calloc((size_t)ps->ntables * ncols + 1, sizeof(*rows));
	if (!order || !rows) {
		err = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; i < ps->ntables; i++)
		summary__fill(b->tables[order[i].table].sum, ps->cols, ps->ncols, ps->grouped,
			      order[i].task, rows + (size_t)i * ncols);
	file = h5__row_type(cols, ncols, true);
	mem = h5__row_type(cols, ncols, false);
	dset = create_table(group, ps->name, file, ps->ntables,
			    chunk_rows(ps->ntables, CHUNK_ROWS));
	err = dset < 0 ? h5__error() : write_rows(dset, mem, 0, rows, ps->ntables);
out:
	if (dset >= 0)
		H5Dclose(dset);
	if (mem >= 0)
		H5Tclose(mem);
	if (file >= 0)
		H5Tclose(file);
	summary__free_columns(cols, ncols);
	free(rows);
	free(order);
	return err;
}

static int write_all_totals(const struct build *b)
{
	hid_t group = H5I_INVALID_HID;
	int err = 0;

	for (unsigned i = 0; !err && i < b->layout->nseries; i++) {
		if (!has_totals(&b->layout->series[i]))
			continue;
		if (group < 0)
			group = h5__create_group(b->node, "Totals");
		err = group < 0 ? h5__error() : write_totals(b, group, i);
	}
	if (group >= 0)
		H5Gclose(group);
	return err;
}

/* Adds rows for the columns of a series, or of one of its tables. */
static void describe(struct columns_row *rows, unsigned *n, const struct nodestep_series *ps,
		     const char *table)
{
	for (unsigned c = 0; c < ps->ncols; c++)
		rows[(*n)++] = (struct columns_row){table, ps->name, &ps->cols[c]};
}

static int write_columns(const struct build *b)
{
	const struct nodestep_layout *p = b->layout;
	struct columns_row *rows;
	size_t room = 0;
	unsigned n = 0;
	int err;

	for (unsigned i = 0; i < p->nseries; i++)
		room += (size_t)p->series[i].ncols *
			(p->series[i].apart ? p->series[i].ntables : p->series[i].made);
	rows = calloc(room + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (unsigned i = 0; i < p->nseries; i++)
		if (p->series[i].made && !p->series[i].apart)
			describe(rows, &n, &p->series[i], NULL);
	for (unsigned i = 0; i < p->ntables; i++)
		if (p->tables[i].made && p->series[p->tables[i].series].apart)
			describe(rows, &n, &p->series[p->tables[i].series], p->tables[i].name);
	err = columns_table__write(b->node, rows, n);
	free(rows);
	return err;
}

static int write_file(struct build *b, int journal_fd)
{
	unsigned limit = chunk_limit(b->layout);
	int err;

	b->node = h5__create_group(b->file, nodestep_layout__attr(b->layout, "Node Name")->str);
	if (b->node < 0)
		return h5__error();
	err = nodestep_attrs_write(b->node, b->layout);
	for (unsigned i = 0; !err && i < b->layout->nseries; i++)
		err = open_series(b, i);
	for (unsigned i = 0; !err && i < b->layout->ntables; i++)
		if (b->layout->tables[i].made)
			err = open_table(b, i, limit);
	if (!err)
		err = write_tables(b, journal_fd);
	if (!err)
		err = write_all_totals(b);
	if (!err)
		err = write_columns(b);
	return err;
}

/* A descriptor of the file that outlives its close by the library; -1: there is none. */
static int own_descriptor(hid_t file)
{
	int *fd;

	return H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&fd) < 0
		       ? -1
		       : fcntl(*fd, F_DUPFD_CLOEXEC, 3);
}

/* Closing writes what the library still holds: it can fail like any other write. */
static int close_file(struct build *b)
{
	int fd = b->layout->window ? -1 : own_descriptor(b->file), err = 0;

	for (unsigned i = 0; i < b->layout->ntables; i++)
		if (b->tables[i].dset > 0)
			H5Dclose(b->tables[i].dset);
	for (unsigned i = 0; i < b->layout->nseries; i++) {
		if (b->series[i].mem > 0)
			H5Tclose(b->series[i].mem);
		if (b->layout->series[i].grouped && b->series[i].group > 0)
			H5Gclose(b->series[i].group);
	}
	if (b->node > 0)
		H5Gclose(b->node);
	if (H5Fclose(b->file) < 0)
		err = h5__error();
	else if (!b->layout->window && (fd < 0 || fsync(fd)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static void build_free(struct build *b)
{
	for (unsigned i = 0; b->tables && i < b->layout->ntables; i++) {
		free(b->tables[i].buf);
		free(b->tables[i].sum);
	}
	for (unsigned i = 0; b->series && i < b->layout->nseries; i++)
		free(b->series[i].unknown);
	free(b->tables);
	free(b->series);
}

static int build_file(const struct nodestep_layout *layout, int journal_fd, int dir_fd,
		      const char *name)
{
	struct build b = {.layout = layout};
	int err = 0, closed;

	b.series = calloc(layout->nseries + 1, sizeof(*b.series));
	b.tables = calloc(layout->ntables + 1, sizeof(*b.tables));
	if (!b.series || !b.tables) {
		err = -ENOMEM;
		goto out;
	}
	b.file = create_file(dir_fd, name, layout);
	if (b.file < 0 && !unlinkat(dir_fd, name, 0)) /* what a writer that was killed has left */
		b.file = create_file(dir_fd, name, layout);
	if (b.file < 0) {
		err = h5__error();
		unlinkat(dir_fd, name, 0);
		goto out;
	}
	err = write_file(&b, journal_fd);
	closed = close_file(&b);
	if (!err)
		err = closed;
	if (err)
		unlinkat(dir_fd, name, 0);
out:
	build_free(&b);
	return err;
}

int nodestep__build(int journal_fd, int dir_fd, const char *name,
		    const struct nodestep_window *window, struct nodestep_stats *st)
{
	const struct nodestep_attr *node;
	struct nodestep_layout *layout = NULL;
	int err;

	h5__init();
	err = nodestep_layout__read(&layout, journal_fd, window);
	if (err)
		return err;
	node = nodestep_layout__attr(layout, "Node Name");
	if (!node || node->type != ATTR_STR)
		err = -ENODATA;
	else if (!h5__name_ok(node->str))
		err = -EINVAL;
	else
		err = build_file(layout, journal_fd, dir_fd, name);
	if (!err && st)
		*st = (struct nodestep_stats){
			.series = layout->nseries,
			.tables = layout->ntables,
			.rows = layout->rows,
			.rejected = layout->rejected,
			.torn_bytes = layout->torn_bytes,
			.torn_rows = layout->torn_rows,
			.complete = layout->complete,
		};
	nodestep_layout__free(layout);
	return err;
}
