/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the rows of a table one after the other, chunk by chunk where the chunks are decoded here.
 */
#include "hdf5/cursor.h"

#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/read_note.h"
#include "base/str.h"
#include "hdf5/cursor_chunk.h"
#include "hdf5/h5util.h"
#include "hdf5/slurm_check.h"

/* ---- the columns of a table, from the type of its rows */

#define ROW_MAX	       (1u << 20) /* bytes in the file */
#define COLUMNS_MAX    4096
#define ARRAY_NAME_MAX 255 /* every element repeats it */

/* Integers and IEEE floats are numbers; strings and home-made floats are left out. */
static bool number_type(hid_t type, enum col_type *out)
{
	const hid_t floats[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
	size_t size = H5Tget_size(type);

	if (H5Tget_class(type) == H5T_INTEGER) {
		*out = H5Tget_sign(type) == H5T_SGN_NONE ? COL_U64 : COL_I64;
		return size == 1 || size == 2 || size == 4 || size == 8;
	}
	*out = COL_F64;
	for (unsigned i = 0; i < 4; i++)
		if (H5Tequal(type, floats[i]) > 0)
			return true;
	return false;
}

/* How many numbers an array of one dimension holds; 0: it is no such, or of more than max. */
static unsigned array_length(hid_t type, unsigned max, enum col_type *out)
{
	hsize_t n = 0;
	bool good = false;
	hid_t of;

	if (H5Tget_class(type) != H5T_ARRAY || H5Tget_array_ndims(type) != 1 ||
	    H5Tget_array_dims2(type, &n) != 1 || n > max)
		return 0;
	of = H5Tget_super(type);
	/* A damaged file may give it another size than its elements have. */
	if (of >= 0) {
		good = number_type(of, out) && n * H5Tget_size(of) == H5Tget_size(type);
		H5Tclose(of);
	}
	return good ? n : 0;
}

/* The library does not check that a row holds its members, and reads beyond it. */
static bool within_row(hid_t type, int i, hid_t member)
{
	size_t row = H5Tget_size(type), size = H5Tget_size(member);

	return size && size <= row && H5Tget_member_offset(type, i) <= row - size;
}

/* While the columns are made: there is room for as many as there are members, and spare more may
 * come of their arrays. */
struct making {
	struct cursor *c;
	unsigned room, spare;
	bool arrays;
};

static int add_number(struct making *m, const char *name, enum col_type type)
{
	struct cursor_column *col = &m->c->cols[m->c->ncols];

	*col = (struct cursor_column){.name = strdup(name), .type = type};
	m->c->ncols += col->name != NULL;
	return col->name ? 0 : -ENOMEM;
}

static int add_array(struct making *m, const char *name, enum col_type type, unsigned n)
{
	struct cursor *c = m->c;
	const unsigned first = c->ncols, room = m->room + n - 1;
	struct cursor_column *cols = realloc(c->cols, room * sizeof(*cols));

	if (!cols)
		return -ENOMEM;
	c->cols = cols;
	m->room = room;
	m->spare -= n - 1;
	m->arrays = true;
	for (unsigned i = 0; i < n; i++) {
		char *full;

		if (asprintf(&full, "%s%u", name, i) < 0)
			return -ENOMEM;
		c->cols[c->ncols++] = (struct cursor_column){.name = full, .type = type};
	}
	c->cols[first].array = n;
	return 0;
}

static int add_member(struct making *m, hid_t type, int i, hid_t member)
{
	enum col_type kind;
	bool number = number_type(member, &kind);
	unsigned n = number ? 0 : array_length(member, m->spare + 1, &kind);
	char *name = number || n ? H5Tget_member_name(type, i) : NULL;
	int err = 0;

	if (name && number)
		err = add_number(m, name, kind);
	else if (name && strlen(name) <= ARRAY_NAME_MAX)
		err = add_array(m, name, kind, n);
	else
		m->c->others = true;
	H5free_memory(name);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The library sees to the names of members, but not to what comes of an array's. */
static int check_names(const struct cursor *c)
{
	_cleanup_free_ char **names = calloc(c->ncols, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++)
		names[i] = c->cols[i].name;
	qsort(names, c->ncols, sizeof(*names), by_name);
	for (unsigned i = 1; i < c->ncols; i++)
		if (!strcmp(names[i - 1], names[i]))
			return -EBADMSG;
	return 0;
}

/*
 * Makes c->cols, ncols and others, of a cursor without columns. Arrays with a long name, or of more
 * numbers than a table may have columns, are others. 0; -EBADMSG: no row of numbers, or damaged, or
 * two columns of one name; -EMSGSIZE: the row is too long; -ENOMEM. What there is of c->cols then
 * is the caller's to free, too.
 */
static int cursor_columns_read(hid_t type, struct cursor *c)
{
	int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : -1, err = 0;
	size_t size = H5Tget_size(type);
	struct making m = {.c = c};

	if (size > ROW_MAX)
		return -EMSGSIZE;
	if (!size || n < 1 || n > COLUMNS_MAX)
		return -EBADMSG;
	c->others = false;
	c->cols = calloc(n, sizeof(*c->cols));
	if (!c->cols)
		return -ENOMEM;
	m.room = n;
	m.spare = COLUMNS_MAX - n;
	for (int i = 0; !err && i < n; i++) {
		hid_t member = H5Tget_member_type(type, i);

		err = member >= 0 && within_row(type, i, member) ? add_member(&m, type, i, member)
								 : -EBADMSG;
		if (member >= 0)
			H5Tclose(member);
	}
	if (!err && m.arrays)
		err = check_names(c);
	return err ? err : c->ncols ? 0 : -ENOTSUP;
}

/* Makes the type of a row in memory: the columns as cells, one after the other. 0, -EBADMSG or
 * -ENOMEM. */
static int cursor_columns_memory(const struct cursor *c, hid_t *out)
{
	_cleanup_free_ struct column *cols = calloc(c->ncols, sizeof(*cols));

	if (!cols)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++)
		cols[i] = (struct column){
			.name = c->cols[i].name,
			.type = c->cols[i].type,
			.array = c->cols[i].array,
		};
	*out = h5__row_type(cols, c->ncols, false);
	return *out < 0 ? -EBADMSG : 0;
}

#define TABLE_MAX   (UINT64_C(4) << 30) /* bytes of rows */
#define SMALL_TABLE (1u << 20)		/* the same */
#define CHECKED_MAX (256u << 20) /* the same: of tables of Slurm's whose values are looked at */
#define BLOCK_BYTES (1u << 20)	 /* read at a time where the library decodes */
/* Deflate cannot do better than 1:1032; a table that claims to is not believed. */
#define DEFLATE_RATIO 1040u

struct cursor_state {
	hid_t dset;
	hid_t dapl;
	hid_t type;	     /* of the rows in the file; kept for the next table */
	hid_t mem;	     /* of a row in memory */
	bool plain;	     /* the two are the same bytes */
	bool raw;	     /* chunks are decoded here */
	int no_filter;	     /* h5__filters() of the table, which has rows all the same */
	uint64_t file_bytes; /* 0: the rows there can be have been checked */
	struct chunk_shape shape;
	struct chunks *chunks;
	uint64_t at; /* next row */
	union cell *block;
	size_t block_rows; /* there is room for */
	struct slurm_check check;
	hid_t node;		      /* the group that the table is in */
	char series[256], place[512]; /* what Columns calls the table: the first or the second */
	bool totals;		      /* and its columns have a prefix */
	struct columns_table columns;
	hid_t columns_of; /* node */
};

int cursor__new(struct cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (c)
		c->state = calloc(1, sizeof(*c->state));
	if (!c || !c->state) {
		free(c);
		return -ENOMEM;
	}
	*c->state = (struct cursor_state){
		.dset = H5I_INVALID_HID,
		.type = H5I_INVALID_HID,
		.mem = H5I_INVALID_HID,
		.columns_of = H5I_INVALID_HID,
		.dapl = H5Pcreate(H5P_DATASET_ACCESS),
		.chunks = chunks__new(),
	};
	/* The library's own table of cached chunks costs more to make than a table to read. */
	if (!c->state->chunks || H5Pset_chunk_cache(c->state->dapl, 1, 1 << 20, 1) < 0) {
		cursor__free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

static void forget_shape(struct cursor *c)
{
	struct cursor_state *s = c->state;

	for (unsigned i = 0; i < c->ncols; i++)
		free(c->cols[i].name);
	free(c->cols);
	free(s->block);
	if (s->type >= 0)
		H5Tclose(s->type);
	if (s->mem >= 0)
		H5Tclose(s->mem);
	c->cols = NULL;
	c->ncols = 0;
	s->block = NULL;
	s->block_rows = 0;
	s->type = s->mem = H5I_INVALID_HID;
}

static void close_table(struct cursor *c)
{
	slurm_check__end(&c->state->check, c);
	if (c->state->dset >= 0)
		H5Dclose(c->state->dset);
	c->state->dset = H5I_INVALID_HID;
	c->state->at = c->nrows = 0;
}

void cursor__close(struct cursor *c)
{
	close_table(c);
}

void cursor__free(struct cursor *c)
{
	if (!c)
		return;
	close_table(c);
	forget_shape(c);
	chunks__free(c->state->chunks);
	slurm_check__free(&c->state->check);
	columns_table__clear(&c->state->columns);
	if (c->state->dapl >= 0)
		H5Pclose(c->state->dapl);
	free(c->state);
	free(c);
}

/* Takes type over. */
static int learn_shape(struct cursor *c, hid_t type)
{
	struct cursor_state *s = c->state;
	int err;

	if (s->type >= 0 && H5Tequal(type, s->type) > 0) {
		H5Tclose(type);
		return 0;
	}
	forget_shape(c);
	s->type = type;
	c->shape++;
	err = cursor_columns_read(type, c);
	if (err)
		goto fail;
	err = cursor_columns_memory(c, &s->mem);
	if (err)
		goto fail;
	s->plain = H5Tequal(s->type, s->mem) > 0;
	return 0;
fail:
	forget_shape(c);
	return err;
}

/* Before anything is asked about the table that would look into other files. */
static bool is_in_file(hid_t dcpl)
{
	H5D_layout_t layout = H5Pget_layout(dcpl);

	return !H5Pget_external_count(dcpl) &&
	       (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS || layout == H5D_COMPACT);
}

/* There can be as many rows as the table claims. Asking takes the library as long as reading a
 * small table: if all its chunks are there, that shows it, and if one is not, it is asked then. */
static int check_storage(struct cursor *c)
{
	struct cursor_state *s = c->state;
	uint64_t rest = c->nrows > s->shape.rows ? c->nrows - s->shape.rows : 0;
	uint64_t stored = rest ? H5Dget_storage_size(s->dset) : 0;

	stored = stored < s->file_bytes ? stored : s->file_bytes;
	s->file_bytes = 0;
	if (stored > TABLE_MAX / DEFLATE_RATIO)
		return 0;
	return rest * H5Tget_size(s->type) > stored * DEFLATE_RATIO ? -EMSGSIZE : 0;
}

static int check_size(struct cursor *c)
{
	size_t row_bytes = H5Tget_size(c->state->type);

	if (c->nrows > TABLE_MAX / row_bytes)
		return -EMSGSIZE;
	if (c->state->raw && c->nrows <= SMALL_TABLE / row_bytes)
		return 0;
	return check_storage(c);
}

static int learn_rows(struct cursor *c)
{
	hid_t space = H5Dget_space(c->state->dset);
	hsize_t rows = 0;
	int err = 0;

	if (space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &rows, NULL) != 1)
		err = -EBADMSG;
	if (space >= 0)
		H5Sclose(space);
	c->nrows = rows;
	return err;
}

/* Whether the chunks can be read without the library. A table with a fill value may lack chunks,
 * which only the library fills in. */
static bool is_plain(const struct cursor *c, hid_t dcpl, uint64_t file_bytes)
{
	const struct cursor_state *s = c->state;
	H5D_fill_value_t fill;

	return s->raw && s->shape.plain && c->nrows <= file_bytes / s->shape.row_bytes &&
	       H5Pfill_value_defined(dcpl, &fill) >= 0 && fill != H5D_FILL_VALUE_USER_DEFINED;
}

static int learn_storage(struct cursor *c, uint64_t file_bytes)
{
	struct cursor_state *s = c->state;
	hid_t dcpl = H5Dget_create_plist(s->dset);
	size_t row_bytes = H5Tget_size(s->type);
	int err;

	if (dcpl < 0)
		return -EBADMSG;
	err = is_in_file(dcpl) ? learn_rows(c) : -EBADMSG;
	if (!err)
		err = chunks__shape(dcpl, row_bytes, &s->shape);
	s->raw = !err && s->plain;
	if (err == -ENOTSUP)
		err = 0;
	s->no_filter = s->raw ? 0 : h5__filters(dcpl);
	c->chunks = s->shape.rows ? (c->nrows + s->shape.rows - 1) / s->shape.rows : 0;
	s->file_bytes = file_bytes;
	c->plain = !err && is_plain(c, dcpl, file_bytes);
	c->gaps = false;
	if (!err)
		err = check_size(c);
	H5Pclose(dcpl);
	return err;
}

/* -ENOENT for what is no hard link: another may lead to elsewhere. */
static int open_link(hid_t at, const char *path, struct cursor_state *to)
{
	H5L_info_t link;

	if (H5Lget_info(at, path, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
		return -ENOENT;
	to->dset = H5Dopen2(at, path, to->dapl);
	return to->dset < 0 ? -EBADMSG : 0;
}

static int open_dataset(const struct reader_node *n, const struct reader_series *s,
			const char *table, struct cursor_state *to)
{
	char *path;
	int err;

	if (!h5__name_ok(table))
		return -ENOENT;
	if (!s->grouped)
		return open_link(n->group, s->name, to);
	if (s->group > 0)
		return open_link(s->group, table, to);
	if (asprintf(&path, "%s/%s", s->name, table) < 0)
		return -ENOMEM;
	err = open_link(n->group, path, to);
	free(path);
	return err;
}

/* NaN: not known. */
static double step_cpus(const struct reader_node *n)
{
	int64_t each, tasks;

	return reader_node__i64(n, "CPUs per Task", &each) &&
			       reader_node__i64(n, "Number of Tasks", &tasks) && each > 0 &&
			       tasks > 0
		       ? (double)each * (double)tasks
		       : NAN;
}

/* What Slurm calls a series that its plugins write, NULL: jobprof alone writes it. Its gatherers'
 * samples are in files of jobprof, too, under another name where jobprof has a series of theirs. */
static const char *slurms_name(const struct reader_node *n, const char *series)
{
	static const char *const sampled[] = {"Energy", "Network", "Filesystem"};
	static const char prefix[] = "Slurm_";

	if (n->is_slurms)
		return series;
	if (str__starts(series, prefix))
		return series + sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(sampled) / sizeof(sampled[0]); i++)
		if (!strcmp(series, sampled[i]))
			return series;
	return NULL;
}

/* Goes through the table once, and back to its first row. What is damaged is named when it is read.
 * 0; -EMSGSIZE, -ENOMEM. */
static int check_values(struct cursor *c, const struct reader_node *n, const char *series,
			bool totals)
{
	struct slurm_check *k = &c->state->check;
	const union cell *rows = NULL;
	unsigned nrows = 0;
	int err, got = 1;

	k->beside = !n->is_slurms;
	err = slurm_check__begin(k, c, series, totals, step_cpus(n));
	while (!err && (got = cursor__next(c, &rows, &nrows)) > 0)
		err = slurm_check__look(k, c, rows, nrows);
	if (got == -EMSGSIZE || got == -ENOMEM)
		err = got;
	if (!err)
		slurm_check__judge(k, c);
	cursor__seek(c, 0);
	return err;
}

static void note_place(struct cursor_state *to, const struct reader_node *n,
		       const struct reader_series *s, const char *table)
{
	to->node = n->group;
	to->totals = !strcmp(s->name, "Totals");
	snprintf(to->series, sizeof(to->series), "%s", to->totals ? table : s->name);
	snprintf(to->place, sizeof(to->place), "%s/%s", s->name, table);
}

int cursor__open(struct cursor *c, const struct reader_node *n, const struct reader_series *s,
		 const char *table)
{
	const char *slurms;
	hid_t type;
	int err;

	close_table(c);
	note_place(c->state, n, s, table);
	slurms = c->as_stored ? NULL : slurms_name(n, c->state->series);
	read_note__object("%s/%s%s%s", n->path, s->name, s->grouped ? "/" : "",
			  s->grouped ? table : "");
	err = open_dataset(n, s, table, c->state);
	if (err)
		return err;
	type = H5Dget_type(c->state->dset);
	err = type < 0 ? -EBADMSG : learn_shape(c, type);
	if (!err)
		err = learn_storage(c, n->file_bytes);
	if (err) {
		close_table(c);
		return err;
	}
	for (unsigned i = 0; i < c->ncols; i++)
		c->cols[i].unknown = n->unknown && h5__in_list(n->unknown, c->cols[i].name);
	if (slurms && c->ncols && c->nrows <= CHECKED_MAX / H5Tget_size(c->state->type))
		err = check_values(c, n, slurms, c->state->totals);
	if (err)
		close_table(c);
	return err;
}

static int read_block(struct cursor *c, unsigned n)
{
	struct cursor_state *s = c->state;
	hsize_t start = s->at, count = n;
	hid_t mem = H5Screate_simple(1, &count, NULL), space = H5Dget_space(s->dset);
	int err = 0;

	if (mem < 0 || space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(s->dset, s->mem, mem, space, H5P_DEFAULT, s->block) < 0)
		err = -EBADMSG;
	if (space >= 0)
		H5Sclose(space);
	if (mem >= 0)
		H5Sclose(mem);
	return err;
}

static int next_block(struct cursor *c, const union cell **rows, unsigned *n)
{
	struct cursor_state *s = c->state;
	uint64_t left = c->nrows - s->at;
	size_t max = BLOCK_BYTES / (c->ncols * sizeof(union cell));

	max = max < 16 ? 16 : max;
	max = max > left ? left : max;
	if (s->block_rows < max) {
		free(s->block);
		s->block = calloc(max * c->ncols, sizeof(*s->block));
		s->block_rows = s->block ? max : 0;
	}
	if (!s->block)
		return -ENOMEM;
	*rows = s->block;
	*n = max;
	return read_block(c, max);
}

static int next_chunk(struct cursor *c, const union cell **rows, unsigned *n)
{
	struct cursor_state *s = c->state;
	unsigned skip = s->at % s->shape.rows;
	uint64_t left = c->nrows - s->at;
	const void *decoded;
	int err = chunks__read(s->chunks, s->dset, &s->shape, s->at - skip, &decoded);

	if (err == -ENODATA) {
		c->plain = s->raw = false; /* fill values are the library's matter */
		c->gaps = true;
		err = s->file_bytes ? check_storage(c) : 0;
		return err ? err : next_block(c, rows, n);
	}
	if (err)
		return err;
	*rows = (const union cell *)decoded + (size_t)skip * c->ncols;
	*n = s->shape.rows - skip < left ? s->shape.rows - skip : left;
	return 0;
}

int cursor__next(struct cursor *c, const union cell **rows, unsigned *n)
{
	int err;

	if (c->state->at >= c->nrows)
		return 0;
	if (c->state->no_filter)
		return c->state->no_filter;
	err = c->state->raw ? next_chunk(c, rows, n) : next_block(c, rows, n);
	if (!err && c->state->check.on)
		err = slurm_check__mend(&c->state->check, c, c->state->at, rows, *n);
	if (err)
		return err;
	c->state->at += *n;
	return 1;
}

void cursor__seek(struct cursor *c, uint64_t row)
{
	c->state->at = row;
}

hid_t cursor__dataset(const struct cursor *c)
{
	return c->state->dset;
}

hid_t cursor__row_type(const struct cursor *c)
{
	return c->state->type;
}

int cursor__columns(const struct cursor *c, const struct columns_table **out)
{
	struct cursor_state *s = c->state;
	int err = 0;

	/* The library gives no number of a group again. */
	if (s->columns_of != s->node) {
		columns_table__clear(&s->columns);
		err = columns_table__read(s->node, &s->columns);
		s->columns_of = err ? H5I_INVALID_HID : s->node;
	}
	*out = &s->columns;
	return err;
}

const char *cursor__columns_row(const struct cursor *c, const char *column)
{
	const struct cursor_state *s = c->state;
	const char *of = s->totals ? aggregate__column(column, NULL) : NULL, *row;

	column = of ? of : column;
	row = columns_table__find(&s->columns, s->place, column);
	return row ? row : columns_table__find(&s->columns, s->series, column);
}

int cursor__column(const struct cursor *c, const char *name)
{
	for (unsigned i = 0; i < c->ncols; i++)
		if (!strcmp(c->cols[i].name, name))
			return (int)i;
	return -1;
}

int cursor__column_like(const struct cursor *c, const char *name)
{
	int at = cursor__column(c, name);

	for (unsigned i = 0; at < 0 && i < c->ncols; i++)
		if (!strcasecmp(c->cols[i].name, name))
			at = (int)i;
	return at;
}
