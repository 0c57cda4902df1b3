/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/show_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int load_task(const struct view *v, const struct reader_series *s, const char *name,
		     double start_ns, struct view_task *t)
{
	int err = reader__table(v->r, v->n, s, name, &t->t);

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

static int load_tasks(struct view *v, double start_ns)
{
	const struct reader_series *s = node__series(v->n, "Tasks");
	const struct reader_series *l = node__series(v->n, "RunLatency");
	int err = 0;

	if (!s || !s->grouped)
		return 0;
	v->tasks = calloc(s->ntables + 1, sizeof(*v->tasks));
	if (!v->tasks)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < s->ntables; i++) {
		struct view_task *t = &v->tasks[v->ntasks++];

		err = load_task(v, s, s->tables[i], start_ns, t);
		if (!err && l && l->grouped)
			err = reader__table(v->r, v->n, l, s->tables[i], &t->latency);
		if (err == -ENOENT)
			err = 0;
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

int view__load(struct view *v, const struct reader *r, const struct reader_node *n)
{
	const struct reader_series *step = node__series(n, "Step");
	double start_ns = number(n, "Start TimeNS");
	int err;

	*v = (struct view){.r = r, .n = n, .wall = NAN};
	v->task_cpus = number(n, "CPUs per Task");
	v->node_cpus = allocated_cpus(v);
	v->limit_mb = number(n, "Memory Limit");
	err = load_tasks(v, start_ns);
	if (!err && step && !step->grouped) {
		err = load_task(v, step, step->name, start_ns, &v->step);
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
	free(t->end);
}

void view__free(struct view *v)
{
	for (unsigned i = 0; i < v->ntasks; i++)
		task_clear(&v->tasks[i]);
	task_clear(&v->step);
	free(v->tasks);
	*v = (struct view){0};
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

const char *view__step_name(const char *step)
{
	static const struct {
		const char *id, *name;
	} special[] = {
		{"4294967291", "batch"},       {"4294967292", "extern"}, {"-4", "extern"},
		{"4294967290", "interactive"}, {"-6", "interactive"},
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(step, special[i].id))
			return special[i].name;
	return step;
}
