/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/show_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
		t->wall = t->end[t->t->nrows - 1];
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
		t->totals = v->totals[0];
		if (!err)
			err = load_beside(v, "RunLatency", s->tables[i], &t->latency);
		if (!err)
			err = load_beside(v, "BlkLatency", s->tables[i], &t->blk);
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
	err = load_beside(v, "Totals", "Tasks", &v->totals[0]);
	if (!err)
		err = load_beside(v, "Totals", "Step", &v->totals[1]);
	if (!err)
		err = load_tasks(v, start_ns);
	if (!err && step && !step->grouped) {
		err = load_task(v, step, step->name, start_ns, &v->step);
		v->step.totals = v->totals[1];
		v->wall = v->step.wall;
	}
	for (unsigned i = 0; i < v->ntasks; i++)
		if (isnan(v->wall) || v->tasks[i].wall > v->wall)
			v->wall = v->tasks[i].wall;
	return err;
}

static void task_clear(struct view_task *t)
{
	table__free(t->t);
	table__free(t->latency);
	table__free(t->blk);
	free(t->end);
}

void view__free(struct view *v)
{
	for (unsigned i = 0; i < v->ntasks; i++)
		task_clear(&v->tasks[i]);
	task_clear(&v->step);
	table__free(v->totals[0]);
	table__free(v->totals[1]);
	free(v->tasks);
	reader_node__free(v->n);
	*v = (struct view){0};
}

static bool in_totals(const struct table *totals, const char *prefix, const char *column)
{
	char name[160];

	snprintf(name, sizeof(name), "%s_%s", prefix, column);
	return table__column(totals, name);
}

enum col_kind view__kind(const struct view_task *t, const char *column)
{
	const struct column *c = series__column(column);

	if (!t->totals || (c && c->kind == COL_TIME))
		return c ? c->kind : COL_GAUGE;
	if (in_totals(t->totals, "Sum", column))
		return COL_DELTA;
	return in_totals(t->totals, "Last", column) ? COL_CUMULATIVE : COL_GAUGE;
}

enum family view__family(const struct table *t, unsigned column)
{
	const struct column *c = series__column(t->names[column]);

	if (c)
		return c->family;
	for (unsigned i = column + 1; i < t->ncols && i <= column + JP_PMU_EVENTS; i++) {
		c = series__column(t->names[i]);
		if (c && c->family != FAM_PERF)
			break;
		if (c && c->how == HOW_PMU_RUNNING)
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

double view__requests(const struct table *blk, char what, double counts[JP_LAT_BUCKETS])
{
	double writes[JP_LAT_BUCKETS], n;

	n = calc__histogram(blk, what == 'W' ? 'W' : 'B', counts);
	if (what != 'R')
		return n;
	calc__histogram(blk, 'W', writes);
	n = 0;
	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		counts[k] = counts[k] > writes[k] ? counts[k] - writes[k] : 0;
		n += counts[k];
	}
	return n;
}

double view__efficiency(const struct view_task *t, double cpus)
{
	double s = calc__sum(t->t, "CPUTime");

	return t->wall > 0 && cpus > 0 ? s / (t->wall * cpus) : NAN;
}

double view__peak_mb(const struct table *t)
{
	double peak = calc__max(t, "PeakMB"), rss = calc__max(t, "RSS") / 1024;

	return isnan(peak) || rss > peak ? rss : peak;
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
