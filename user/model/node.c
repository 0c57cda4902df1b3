/* SPDX-License-Identifier: GPL-2.0-only */
#include "model/node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all its rows, s; NaN: not known. */
static double span(const struct view_task *t)
{
	return t->end ? t->end[t->t->nrows - 1] : NAN;
}

/* When its last process ended, at most a row late; its table goes on as long as the step. */
static double wall_of(const struct view_task *t)
{
	const double *threads = table__column(t->t, "Threads");

	for (uint64_t i = threads ? t->t->nrows : 0; i-- > 0;)
		if (threads[i] > 0)
			return t->end[i];
	return span(t);
}

static int load_task(const struct view *v, const struct reader_series *s, const char *name,
		     double start_ns, struct view_task *t)
{
	int err = reader__table(v->n, s, name, &t->t);

	t->name = name;
	t->wall = NAN;
	if (err)
		return err;
	t->end = calc__times(t->t, start_ns);
	if (t->end)
		t->wall = wall_of(t);
	else if (t->t->nrows && table__column(t->t, "ElapsedTime"))
		return -ENOMEM;
	return 0;
}

/* The table of that name in a group of tables, if it is there. */
static int load_beside(const struct view *v, const char *group, const char *name,
		       struct table **out)
{
	const struct reader_series *s = node__series(v->n, group);
	int err = s && s->grouped ? reader__table(v->n, s, name, out) : 0;

	return err == -ENOENT ? 0 : err;
}

static int load_histograms(const struct view *v, struct view_task *t)
{
	int err = 0;

	t->beside = calloc(n_builtin_series, sizeof(*t->beside));
	if (!t->beside)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < n_builtin_series; i++)
		if (strcmp(builtin_series[i].name, "Tasks") && !builtin_series[i].of_node)
			err = load_beside(v, builtin_series[i].name, t->name, &t->beside[i].t);
	return err;
}

static int load_tasks(struct view *v, double start_ns)
{
	const struct reader_series *s = node__series(v->n, "Tasks");
	int err = 0;

	if (!s || !s->grouped)
		return 0;
	v->tasks = calloc(s->ntables + 1, sizeof(*v->tasks));
	if (!v->tasks)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < s->ntables; i++) {
		struct view_task *t = &v->tasks[v->ntasks++];

		err = load_task(v, s, s->tables[i], start_ns, t);
		if (!err)
			err = load_histograms(v, t);
	}
	return err;
}

static double number(const struct reader_node *n, const char *name)
{
	double v;

	return node__number(n, name, &v) ? v : NAN;
}

static double allocated_cpus(const struct view *v)
{
	const char *list = node__str(v->n, "Allocated CPUs");
	double n = number(v->n, "Allocated CPUs");
	unsigned listed = list ? calc__cpu_count(list) : 0;

	if (n > 0)
		return n;
	if (listed)
		return listed;
	return v->task_cpus * number(v->n, "Number of Tasks");
}

int view__load(struct view *v, const struct reader *r, unsigned step_at, unsigned node)
{
	const struct reader_series *step;
	struct reader_node *n;
	double start_ns;
	int err;

	*v = (struct view){.r = r, .wall = NAN};
	err = reader__node(r, step_at, node, NULL, &n);
	if (err)
		return err;
	v->n = n;
	step = node__series(n, "Step");
	start_ns = number(n, "Start TimeNS");
	v->task_cpus = number(n, "CPUs per Task");
	v->node_cpus = allocated_cpus(v);
	v->limit_mb = number(n, "Memory Limit");
	err = load_tasks(v, start_ns);
	if (!err && step && !step->grouped) {
		err = load_task(v, step, step->name, start_ns, &v->step);
		v->wall = span(&v->step);
	}
	for (unsigned i = 0; i < v->ntasks; i++)
		v->wall = fmax(v->wall, span(&v->tasks[i]));
	return err;
}

static void task_clear(struct view_task *t)
{
	table__free(t->t);
	for (unsigned i = 0; t->beside && i < n_builtin_series; i++)
		table__free(t->beside[i].t);
	free(t->beside);
	free(t->end);
}

void view__free(struct view *v)
{
	for (unsigned i = 0; i < v->ntasks; i++)
		task_clear(&v->tasks[i]);
	task_clear(&v->step);
	free(v->tasks);
	reader_node__free(v->n);
	*v = (struct view){0};
}

bool view__is_other(const struct reader_series *s)
{
	const struct series *known = series__find(s->name);

	return strcmp(s->name, "Totals") && (!known || known->of_node);
}

void view__each_other(const struct view *v,
		      void (*fn)(const struct reader_series *s, const struct view_task *t,
				 void *arg),
		      void *arg)
{
	for (unsigned i = 0; i < v->n->nseries; i++) {
		const struct reader_series *s = &v->n->series[i];

		if (!view__is_other(s))
			continue;
		for (unsigned j = 0; j < s->ntables; j++) {
			struct view_task t = {.name = s->tables[j]};

			if (reader__table(v->n, s, t.name, &t.t))
				t.t = NULL;
			fn(s, &t, arg);
			table__free(t.t);
		}
	}
}

enum family view__family(const struct table *t, unsigned column)
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

const char *view__mode(const struct view *v, enum family family)
{
	char name[32];

	snprintf(name, sizeof(name), "Mode %s", family__name(family));
	return node__str(v->n, name);
}

double view__histogram(const struct view_task *t, const char *series, char prefix, char less,
		       double counts[JP_LAT_BUCKETS])
{
	const struct series *s = series__find(series);
	const struct table *table = s && t->beside ? t->beside[s - builtin_series].t : NULL;
	double without[JP_LAT_BUCKETS], n;

	if (!table)
		return NAN;
	n = calc__histogram(table, prefix, counts);
	if (!less)
		return n;
	n = 0;
	calc__histogram(table, less, without);
	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		counts[k] = counts[k] > without[k] ? counts[k] - without[k] : 0;
		n += counts[k];
	}
	return n;
}

static double highest_mb(const struct table *t, const char *column, const char *by)
{
	double peak = calc__max(t, column), rss = calc__max(t, by) / 1024;

	return isnan(peak) || rss > peak ? rss : peak;
}

/* Its CPUs are held until the step ends. */
static double of_cpus(const struct view *v, const struct view_task *t, const char *column)
{
	double held_s = span(t) * (t == &v->step ? v->node_cpus : v->task_cpus);

	return held_s > 0 ? 100 * calc__sum(t->t, column) / held_s : NAN;
}

double view__value(const struct view *v, const struct view_task *t, enum show_how how,
		   const char *column, const char *by)
{
	switch (how) {
	case BY_SUM:
		return calc__sum(t->t, column);
	case BY_MAX:
		return calc__max(t->t, column);
	case BY_MEAN:
		return calc__mean(t->t, column);
	case BY_LAST:
		return calc__last(t->t, column);
	case BY_RATIO:
		return calc__sum(t->t, column) / calc__sum(t->t, by);
	case BY_OF_CPUS:
		return of_cpus(v, t, column);
	case BY_HIGHEST:
		return highest_mb(t->t, column, by);
	case BY_OF_LIMIT:
		return v->limit_mb > 0 ? 100 * highest_mb(t->t, column, by) / v->limit_mb : NAN;
	case BY_WALL:
		return t->wall;
	}
	return NAN;
}

double view__probe_s(const struct view *v)
{
	double sum = NAN;

	for (unsigned i = 0; i < v->ntasks; i++) {
		double s = calc__sum(v->tasks[i].t, "ProbeTime");

		if (!isnan(s))
			sum = isnan(sum) ? s : sum + s;
	}
	return isnan(sum) ? calc__sum(v->step.t, "ProbeTime") : sum;
}
