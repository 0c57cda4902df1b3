/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of a task or of a whole step: sums of its columns, shares of what was allocated. */
#include "analysis/analysis.h"

#include <math.h>

double task_measure__wall_s(const struct model_task *t)
{
	const double *threads = model_table__column(&t->rows, "Threads");

	for (uint64_t i = threads && t->rows.end_s ? t->rows.nrows : 0; i-- > 0;)
		if (threads[i] > 0)
			return t->rows.end_s[i];
	return model_table__span_s(&t->rows);
}

/* Slurm's column has 0 where no process lived: no peak. */
static double highest_mb(const struct model_table *t, const char *mb, const char *kib)
{
	double peak = column_stats__max(t, mb), rss = column_stats__max(t, kib) / 1024;

	return rss > 0 && !(rss <= peak) ? rss : peak;
}

/* A task's CPUs are held until the step ends. */
static double percent_of_cpus(const struct model_node *n, const struct model_task *t,
			      const char *column)
{
	double cpus = t == &n->all ? n->node_cpus : n->task_cpus;
	double held_s = model_table__span_s(&t->rows) * cpus;

	return held_s > 0 ? 100 * column_stats__sum(&t->rows, column) / held_s : NAN;
}

double task_measure__value(const struct model_node *n, const struct model_task *t,
			   enum task_measure how, const char *column, const char *other)
{
	const struct model_table *rows = &t->rows;

	switch (how) {
	case MEASURE_SUM:
		return column_stats__sum(rows, column);
	case MEASURE_MAX:
		return column_stats__max(rows, column);
	case MEASURE_MEAN:
		return column_stats__mean(rows, column);
	case MEASURE_LAST:
		return column_stats__last(rows, column);
	case MEASURE_RATIO:
		return column_stats__sum(rows, column) / column_stats__sum(rows, other);
	case MEASURE_OF_CPUS:
		return percent_of_cpus(n, t, column);
	case MEASURE_HIGHEST:
		return highest_mb(rows, column, other);
	case MEASURE_OF_LIMIT:
		return n->limit_mb > 0 ? 100 * highest_mb(rows, column, other) / n->limit_mb : NAN;
	case MEASURE_WALL:
		return task_measure__wall_s(t);
	}
	return NAN;
}

struct collector_cost collector_cost__of(const struct model_node *n)
{
	double probe_s = NAN, cpu_s = 0;

	for (unsigned i = 0; i < n->ntasks; i++) {
		double probe = column_stats__sum(&n->tasks[i].rows, "ProbeTime");
		double cpu = column_stats__sum(&n->tasks[i].rows, "CPUTime");

		if (!isnan(probe))
			probe_s = isnan(probe_s) ? probe : probe_s + probe;
		cpu_s += isnan(cpu) ? 0 : cpu;
	}
	if (isnan(probe_s))
		probe_s = column_stats__sum(&n->all.rows, "ProbeTime");
	return (struct collector_cost){probe_s, cpu_s > 0 ? 100 * probe_s / cpu_s : NAN};
}

double step_efficiency__of(const struct model_step *s)
{
	return s->offered_s > 0 ? s->cpu_s / s->offered_s : NAN;
}
