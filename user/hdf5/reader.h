/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads node-step files and merged job files, Slurm's own and ours. The file is not trusted: only
 * hard links are followed, tables whose bytes lie in another file are refused, and no filter is
 * loaded from outside the library. Opening lists the names of steps and nodes; a node is read when
 * it is requested, so that memory does not grow with the file.
 */
#ifndef JP_HDF5_READER_H
#define JP_HDF5_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_list.h"
#include "journal/journal.h"

struct reader_step {
	char *name; /* name in the merged file, or by the file's name; "" where neither has it */
	struct string_list nodes; /* in natural order: n2 before n10 */
};

/* The group of the nodes that were read last. */
struct reader_place {
	int64_t group; /* hid_t; not above 0: none */
	unsigned step;
};

/* An open file. A process has one reader of it, however often the file is opened. */
struct reader_file {
	char *path;
	uint64_t bytes, device, inode; /* bytes that it occupies, and its identity by stat(2) */
	unsigned users; /* calls of reader__open() that reader__free() has not undone */
};

struct reader {
	int64_t file; /* hid_t */
	struct reader_file of;
	struct reader *next; /* the next open reader */
	char *job; /* id by a merged file, or else by the file's name; "": neither has it */
	bool merged;
	struct reader_step *steps; /* in the order of stepname__cmp */
	unsigned nsteps;
	unsigned nnodes; /* of all steps together */
	struct reader_place *place;
};

/* Opens a file. One that this process, or the process that forked it, has open already is not
 * opened again: the reader is the same. 0; -EBADMSG: not HDF5, or neither kind of file;
 * -EPROTONOSUPPORT: of a Slurm before 15.08; -ENOMSG: it has only results of analyses; -errno:
 * cannot be opened. */
int reader__open(struct reader **out, const char *path);
/* As reader__open(), but reads no steps: the file may have only results. */
int reader__open_results(struct reader **out, const char *path);
void reader__free(struct reader *r);
/* What an error of reading a file means to a user. */
const char *reader__strerror(int err);

struct reader_attr {
	char *name;
	enum attr_type type; /* ATTR_I64 for every integer */
	int64_t i;
	double f;
	char *str; /* ATTR_STR */
};

struct reader_series {
	char *name;
	bool grouped;
	struct string_list tables; /* numbers in numeric order; where not grouped, one with the name
				      of the series */
	int64_t group; /* hid_t of a grouped series with which the node was read; 0: not open */
};

/* One node of one step. */
struct reader_node {
	const char *step, *name; /* the reader's */
	char *path;		 /* of the group */
	int64_t group;		 /* hid_t */
	uint64_t file_bytes;	 /* no table can have more bytes */
	struct reader_attr *attrs;
	unsigned nattrs;
	struct reader_series *series;
	unsigned nseries;
	char *unknown;	/* attribute "Unknown Columns", NULL: there is none */
	bool is_slurms; /* Slurm's own plugin wrote it */
};

/*
 * Reads one node: its attributes and the names of all its tables. With series, reads only what the
 * tables of that series need: nseries is 1 or 0, nattrs 0. The node must be freed before the
 * reader. 0; -ENOENT: there are not so many; -EBADMSG: damaged, or not a node; -EMSGSIZE: more
 * names than are followed; -ENOMEM.
 */
int reader__node(const struct reader *r, unsigned step, unsigned node, const char *series,
		 struct reader_node **out);
/* Adds another series to a node that was read with one; it is no error that it is not there. */
int reader_node__series(struct reader_node *n, const char *name);
void reader_node__free(struct reader_node *n);
/* Reads one integer attribute, whatever the node was read with. False: there is none. */
bool reader_node__i64(const struct reader_node *n, const char *name, int64_t *v);
/* Whether Slurm's own plugin wrote the group of a node (hid_t). */
bool reader__is_slurms(int64_t group);
/* An integer attribute of any group (hid_t). false: there is none. */
bool reader__i64(int64_t group, const char *name, int64_t *v);

/* A text attribute of any group or table (hid_t), which the caller frees; NULL: there is none. */
char *reader__text(int64_t object, const char *name);

/* Reads one attribute from the file, because reading all of them takes longer than reading a table.
 * The caller frees a->str; a->name is not set. 0; -ENOENT: no such; -EBADMSG: damaged, or of
 * another shape; -ENOMEM. */
int reader__attr(const struct reader_node *n, const char *name, struct reader_attr *a);

/* Finds an attribute that reader__node() has read. */
const struct reader_attr *node__attr(const struct reader_node *n, const char *name);
const char *node__str(const struct reader_node *n, const char *name); /* NULL: no such string */
bool node__number(const struct reader_node *n, const char *name, double *v);
const struct reader_series *node__series(const struct reader_node *n, const char *name);

/* A table in memory. Cells are doubles, column by column; NaN where the value is not known. */
struct table {
	unsigned ncols;
	uint64_t nrows;
	char **names;
	double *cells;
	const struct column *cols;     /* as hdf5/table_columns.h describes them */
	struct table_columns *columns; /* holds cols */
};

/* 0; -ENOENT: no such table; -EBADMSG: not a table of numbers, or damaged; -EMSGSIZE: it claims
 * more rows than its bytes can hold; -ENOMEM. */
int reader__table(const struct reader_node *n, const struct reader_series *s, const char *table,
		  struct table **out);
/* The cells of a column, nrows; NULL: there is none of that name. */
const double *table__column(const struct table *t, const char *name);
void table__free(struct table *t);

#endif
