/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room model: the contents of a profile as arrays in memory. A file has steps, a step has
 * nodes, a node has tasks; a task, the whole step and each other series are tables of columns over
 * one axis of time. The model is all that analysis and view know of a file: no room behind this one
 * uses HDF5. Nodes are read one by one, and the sums of a step over its nodes are made while rows
 * are read, because a job may have more nodes than fit into memory. Values that are not known are
 * NaN everywhere. The stored rows of one column are put side by side (items.h) or become a curve
 * over time (curve.h); contents.h lists the contents of a file, job/job.h reads one or more files
 * as a whole job.
 */
#ifndef JP_MODEL_MODEL_H
#define JP_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/series.h"

struct reader;
struct reader_node;
struct reader_series;
struct job_input;
struct table;

/* A node-step file or a job file. */
struct model_file {
	struct reader *reader; /* for jobfile/select.h */
	const char *job;       /* "": not known */
	bool merged;	       /* a job file */
	unsigned nsteps;
	unsigned nnodes; /* of all steps together */
};

/* 0; -EBADMSG: not HDF5, or neither kind of file; -EPROTONOSUPPORT: of a Slurm before 15.08;
 * -errno: cannot be opened. model_file__close() in all cases. */
int model_file__open(struct model_file *f, const char *path);
void model_file__close(struct model_file *f);

#define MODEL_FILES_OPEN 16

/* Keeps files open while they are read several times, here and in children that start meanwhile; at
 * most MODEL_FILES_OPEN files. */
struct model_files {
	struct reader *v[MODEL_FILES_OPEN];
	unsigned n;
};
/* A file that cannot be opened is skipped: the code that reads it logs the error. */
void model_files__open(struct model_files *f, const struct job_input *inputs, unsigned n);
void model_files__close(struct model_files *f);
/* What an error of reading a file means to a user. */
const char *model_file__strerror(int err);

/* One step over all its nodes: sums of CPU time, bytes and tasks; maxima of wall time and RSS.
 */
struct model_step {
	const char *name; /* as in the file */
	unsigned nodes;
	unsigned damaged; /* nodes that could not be read; no sum contains them */
	double tasks;
	double wall_s; /* wall time of the node with the longest one */
	double cpu_s;
	double offered_s;  /* allocated CPUs x wall of every node */
	double max_rss_mb; /* of one task */
	double read_mb, write_mb;
};

/* Sums up a step, from Totals where a node has them, else from the rows. A damaged node is counted,
 * and is no error. 0 or -ENOMEM. */
int model_file__sum_step(const struct model_file *f, unsigned step, struct model_step *out);

/* An attribute of a node. */
struct model_attr {
	const char *name;
	const char *text; /* NULL: a number */
	bool is_integer;
	int64_t integer; /* is_integer */
	double number;
};

/* A table of numbers. All zeros: there is no table. */
struct model_table {
	const char *name; /* of a task "0", "1" ...; else, for a series that is one table, the
			     series' name */
	unsigned ncols;
	uint64_t nrows;
	const struct column *cols; /* cols[ncols]; NULL: there is no table, or it is damaged */
	const double *values;	   /* values[ncols][nrows] */
	double *end_s; /* end_s[nrows]: when each row ended, since the step's start; NULL: not
			* known, or no rows */
	struct table *stored;
};

/* The nrows values of a column; NULL: there is no such column, or no table. */
const double *model_table__column(const struct model_table *t, const char *name);
/* A column's family, 0: not known. The names of hardware counters are configured: a column that
 * schemas/ do not describe is a counter if only such columns lie between it and PerfRunning, and
 * not more than there can be counters. */
enum family model_table__family(const struct model_table *t, unsigned column);
/* Seconds from the step's start to the end of the last row; NaN: not known. */
double model_table__span_s(const struct model_table *t);

/* A task, or all processes of the step as one. */
struct model_task {
	struct model_table rows;
	/* The task's table in each of builtin_series, with histograms; NULL for the step. */
	struct model_table *histograms;
};

/* A series that is neither of the tasks nor of the step: of the node, of users, of Slurm. */
struct model_series {
	const char *name;
	bool grouped; /* tables with names of their own */
	unsigned ntables;
	const struct reader_series *stored;
};

/* One node of one step. */
struct model_node {
	const char *job, *step, *name; /* job "": not known; step as in the file */
	struct model_attr *attrs;
	unsigned nattrs;
	struct model_task *tasks;
	unsigned ntasks;
	struct model_task all; /* the table Step: all processes */
	struct model_table energy, marks;
	struct model_series *others;
	unsigned nothers;
	double wall_s;	  /* of the longest table of tasks and step */
	double task_cpus; /* CPUs per task */
	double node_cpus; /* CPUs that the step has here */
	double limit_mb;  /* of memory */
	struct reader_node *stored;
};

/* Reads a node: its attributes and all tables but those of other series. 0; -ENOENT: there are not
 * so many; -EBADMSG: damaged; -EMSGSIZE; -ENOMEM. model_node__free() in all cases, before the file
 * is closed. */
int model_node__read(struct model_node *n, const struct model_file *f, unsigned step,
		     unsigned node);
void model_node__free(struct model_node *n);

/* Reads table i of a series of n->others. A table that is damaged, or is not of numbers, has its
 * name and no columns. model_table__free() frees it. */
void model_node__read_other(const struct model_node *n, const struct model_series *s, unsigned i,
			    struct model_table *t);
void model_table__free(struct model_table *t);

/* NULL: there is no such attribute. */
const struct model_attr *model_node__attr(const struct model_node *n, const char *name);
/* NULL: there is no such text. */
const char *model_node__text(const struct model_node *n, const char *name);
/* NaN: there is no such number. */
double model_node__number(const struct model_node *n, const char *name);
/* The attribute "Mode FAMILY", or NULL. */
const char *model_node__mode(const struct model_node *n, enum family family);

/* The number of CPUs in the text of "Allocated CPUs", "0-3,8" or a plain number; 0: it is neither.
 */
unsigned model__count_cpus(const char *text);

#define MODEL_TITLE 256

/* "solver, job 42 step 0" by the attributes of the first node, for a job file "solver, job 42"; for
 * jobprof run the command stands for the program; what is not known is left out. The file may be
 * damaged, so this is called in a limited child. */
void model_title__of(const struct model_file *f, char text[static MODEL_TITLE]);
/* The same for a file at path; "": nothing is known. */
void model_title__read(const char *path, char text[static MODEL_TITLE]);
/* A text attribute of the first node; NULL: there is none. The caller frees it. */
char *model_title__attr(const struct model_file *f, const char *name);

#endif
