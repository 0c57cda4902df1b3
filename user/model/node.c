/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One node of a step: its attributes, its tables, and the names of the other series. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jobprof.h"
#include "hdf5/hdf5.h"
#include "identity/cpulist.h"
#include "model/model.h"

/* ---- a table of a node as arrays, with the time at which each of its rows ended */

/* From TimeNS where it and the step's start are known, else from ElapsedTime. */
static int set_times(struct model_table *t, double start_ns)
{
	const double *ns = model_table__column(t, "TimeNS");
	const double *s = model_table__column(t, "ElapsedTime");
	bool exact = ns && !isnan(start_ns);
	const double *from = exact ? ns : s;

	if (!t->nrows || !from)
		return 0;
	t->end_s = calloc(t->nrows, sizeof(*t->end_s));
	if (!t->end_s)
		return -ENOMEM;
	for (uint64_t i = 0; i < t->nrows; i++)
		t->end_s[i] = exact ? (from[i] - start_ns) / 1e9 : from[i];
	return 0;
}

/* start_ns: unix time of the step's start, NaN: not known. name must live as long as the table.
 * Errors as reader__table(); model_table__free() in all cases. */
static int table_read(struct model_table *t, const struct reader_node *n,
		      const struct reader_series *s, const char *name, double start_ns)
{
	struct table *stored;
	int err = reader__table(n, s, name, &stored);

	*t = (struct model_table){.name = name};
	if (err)
		return err;
	t->stored = stored;
	t->ncols = stored->ncols;
	t->nrows = stored->nrows;
	t->cols = stored->cols;
	t->values = stored->cells;
	return set_times(t, start_ns);
}

void model_table__free(struct model_table *t)
{
	table__free(t->stored);
	free(t->end_s);
	*t = (struct model_table){0};
}

const double *model_table__column(const struct model_table *t, const char *name)
{
	for (unsigned c = 0; c < t->ncols; c++)
		if (!strcmp(t->cols[c].name, name))
			return t->values + c * t->nrows;
	return NULL;
}

double model_table__span_s(const struct model_table *t)
{
	return t->end_s ? t->end_s[t->nrows - 1] : NAN;
}

enum family model_table__family(const struct model_table *t, unsigned column)
{
	if (t->cols[column].source == COL_BUILTIN)
		return t->cols[column].family;
	for (unsigned i = column + 1; i < t->ncols && i <= column + JP_PMU_EVENTS; i++) {
		const struct column *c = &t->cols[i];

		if (c->source == COL_BUILTIN && c->family != FAM_PERF)
			break;
		if (c->source == COL_BUILTIN && c->how == HOW_PMU_RUNNING)
			return FAM_PERF;
	}
	return 0;
}

/* The table of that name in a group of tables, if it is there. */
static int read_grouped(const struct model_node *n, const char *group, const char *name,
			struct model_table *t)
{
	const struct reader_series *s = node__series(n->stored, group);
	int err = s && s->grouped ? table_read(t, n->stored, s, name, NAN) : 0;

	return err == -ENOENT ? 0 : err;
}

static int read_histograms(const struct model_node *n, struct model_task *t)
{
	int err = 0;

	t->histograms = calloc(n_builtin_series, sizeof(*t->histograms));
	if (!t->histograms)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < n_builtin_series; i++) {
		const struct series *s = &builtin_series[i];

		/* of bursts there may be millions: model/bursts.h */
		if (!strcmp(s->name, "Bursts"))
			continue;
		if (strcmp(s->name, "Tasks") && !s->of_node && !s->of_parts)
			err = read_grouped(n, s->name, t->rows.name, &t->histograms[i]);
	}
	return err;
}

static int read_tasks(struct model_node *n, double start_ns)
{
	const struct reader_series *s = node__series(n->stored, "Tasks");
	int err = 0;

	if (!s || !s->grouped)
		return 0;
	n->tasks = calloc(s->tables.n + 1, sizeof(*n->tasks));
	if (!n->tasks)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		struct model_task *t = &n->tasks[n->ntasks++];

		err = table_read(&t->rows, n->stored, s, s->tables.v[i], start_ns);
		if (!err)
			err = read_histograms(n, t);
	}
	return err;
}

/* A series that is one table. One that is damaged is left out: the rest of the page is whole. */
static void read_optional(const struct model_node *n, const char *name, double start_ns,
			  struct model_table *t)
{
	const struct reader_series *s = node__series(n->stored, name);

	if (s && !s->grouped && table_read(t, n->stored, s, s->name, start_ns))
		model_table__free(t);
}

static bool is_other(const struct reader_series *s)
{
	const struct series *known = series__find(s->name);

	return strcmp(s->name, "Totals") && (!known || known->of_node || known->of_parts);
}

static int list_others(struct model_node *n)
{
	n->others = calloc(n->stored->nseries + 1, sizeof(*n->others));
	if (!n->others)
		return -ENOMEM;
	for (unsigned i = 0; i < n->stored->nseries; i++) {
		const struct reader_series *s = &n->stored->series[i];

		if (is_other(s))
			n->others[n->nothers++] = (struct model_series){
				.name = s->name,
				.grouped = s->grouped,
				.ntables = s->tables.n,
				.stored = s,
			};
	}
	return 0;
}

static int copy_attrs(struct model_node *n)
{
	n->attrs = calloc(n->stored->nattrs + 1, sizeof(*n->attrs));
	if (!n->attrs)
		return -ENOMEM;
	for (; n->nattrs < n->stored->nattrs; n->nattrs++) {
		const struct reader_attr *a = &n->stored->attrs[n->nattrs];

		n->attrs[n->nattrs] = (struct model_attr){
			.name = a->name,
			.text = a->type == ATTR_STR ? a->str : NULL,
			.is_integer = a->type == ATTR_I64,
			.integer = a->i,
			.number = a->type == ATTR_STR	? NAN
				  : a->type == ATTR_F64 ? a->f
							: (double)a->i,
		};
	}
	return 0;
}

unsigned model__count_cpus(const char *text)
{
	char *end;
	unsigned long alone = strtoul(text, &end, 10);
	int n;

	if (*text >= '0' && *text <= '9' && !*end)
		return alone <= 65536 ? alone : 0;
	n = cpulist__count(text);
	return n > 0 ? n : 0;
}

static double allocated_cpus(const struct model_node *n)
{
	const char *list = model_node__text(n, "Allocated CPUs");
	double number = model_node__number(n, "Allocated CPUs");
	unsigned listed = list ? model__count_cpus(list) : 0;

	if (number > 0)
		return number;
	if (listed)
		return listed;
	return n->task_cpus * model_node__number(n, "Number of Tasks");
}

static int read_tables(struct model_node *n)
{
	const struct reader_series *step = node__series(n->stored, "Step");
	double start_ns = model_node__number(n, "Start TimeNS");
	int err = read_tasks(n, start_ns);

	if (!err && step && !step->grouped)
		err = table_read(&n->all.rows, n->stored, step, step->name, start_ns);
	if (err)
		return err;
	n->wall_s = model_table__span_s(&n->all.rows);
	for (unsigned i = 0; i < n->ntasks; i++)
		n->wall_s = fmax(n->wall_s, model_table__span_s(&n->tasks[i].rows));
	read_optional(n, "Energy", start_ns, &n->energy);
	read_optional(n, "Marks", start_ns, &n->marks);
	return 0;
}

int model_node__read(struct model_node *n, const struct model_file *f, unsigned step, unsigned node)
{
	int err;

	*n = (struct model_node){.job = f->job, .wall_s = NAN};
	err = reader__node(f->reader, step, node, NULL, &n->stored);
	if (err) {
		n->stored = NULL;
		return err;
	}
	n->step = n->stored->step;
	n->name = n->stored->name;
	err = copy_attrs(n);
	if (err)
		return err;
	n->task_cpus = model_node__number(n, "CPUs per Task");
	n->node_cpus = allocated_cpus(n);
	n->limit_mb = model_node__number(n, "Memory Limit");
	err = list_others(n);
	return err ? err : read_tables(n);
}

static void free_task(struct model_task *t)
{
	model_table__free(&t->rows);
	for (unsigned i = 0; t->histograms && i < n_builtin_series; i++)
		model_table__free(&t->histograms[i]);
	free(t->histograms);
}

void model_node__free(struct model_node *n)
{
	for (unsigned i = 0; i < n->ntasks; i++)
		free_task(&n->tasks[i]);
	free_task(&n->all);
	model_table__free(&n->energy);
	model_table__free(&n->marks);
	free(n->tasks);
	free(n->others);
	free(n->attrs);
	reader_node__free(n->stored);
	*n = (struct model_node){0};
}

void model_node__read_other(const struct model_node *n, const struct model_series *s, unsigned i,
			    struct model_table *t)
{
	const char *name = s->stored->tables.v[i];

	if (!table_read(t, n->stored, s->stored, name, NAN))
		return;
	model_table__free(t);
	t->name = name;
}

const struct model_attr *model_node__attr(const struct model_node *n, const char *name)
{
	for (unsigned i = 0; i < n->nattrs; i++)
		if (!strcmp(n->attrs[i].name, name))
			return &n->attrs[i];
	return NULL;
}

const char *model_node__text(const struct model_node *n, const char *name)
{
	const struct model_attr *a = model_node__attr(n, name);

	return a ? a->text : NULL;
}

double model_node__number(const struct model_node *n, const char *name)
{
	const struct model_attr *a = model_node__attr(n, name);

	return a ? a->number : NAN;
}

const char *model_node__mode(const struct model_node *n, enum family family)
{
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family__name(family));
	return model_node__text(n, name);
}
