/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room analysis: numbers that are computed from a model. Pure functions over its arrays: sums
 * and other statistics of a column, quantiles of histograms, values over time, shares of the
 * allocation, energy. Nothing here reads a file, prints, or keeps a state; a value that is not
 * known is NaN, and so is a result that needs it.
 *
 * Other headers are other subjects, over plain arrays: derived_metrics.h computes metrics from
 * counters, reduce.h merges the results of nodes; grid.h makes the bins that the folders work on,
 * matrix.h is a quantity of several units, status.h says how an analysis ended. A folder is one
 * analysis: pika has footprints, tags and issues of jobs, io the character of I/O, fold the inside
 * of a region, cluster bursts and their clusters, counters the counters that only some bursts
 * measured, and CPI stacks, compare why one run took longer than another. The folder job applies
 * these to the units and bins of a job: its facts, for the rules, and its PIKA and I/O tables.
 */
#ifndef JP_ANALYSIS_ANALYSIS_H
#define JP_ANALYSIS_ANALYSIS_H

#include "bpf/abi/sched.h"
#include "model/model.h"

/* Over the known values of a column; NaN: there is no such column, or no value of it is known. The
 * sum of an event that some rows do not have is scaled by CPU time. */
double column_stats__sum(const struct model_table *t, const char *column);
double column_stats__max(const struct model_table *t, const char *column);
double column_stats__last(const struct model_table *t, const char *column);
double column_stats__mean(const struct model_table *t, const char *column);
/* Whether there are rows, none of which has a value in cols[column]. */
bool column_stats__is_unknown(const struct model_table *t, unsigned column);

/*
 * Rows as n equal bins over [0, wall_s]: v[i], of a row that ended at end_s[i], holds since the end
 * of the row before; bins are means weighted by time, NaN where nothing is known. With rate set, v
 * are amounts per interval and are divided by the interval first.
 */
void time_bins__fill(const double *end_s, const double *v, uint64_t rows, double wall_s, bool rate,
		     double *bins, unsigned n);

/* Sums, over all rows of the task's table of a series, the buckets of a prefix, less those of
 * another prefix (0: none). Returns how many values they count in all; NaN: no such table. */
double histogram__sum(const struct model_task *t, const char *series, char prefix, char less,
		      double counts[JP_LAT_BUCKETS]);
/* Upper bound, in ns, of the bucket that holds quantile q (0..1]; NaN when all are empty. */
double histogram__quantile_ns(const double counts[JP_LAT_BUCKETS], double q);

/* The ways to compute one number from a task's rows. */
enum task_measure {
	MEASURE_SUM,
	MEASURE_MAX,
	MEASURE_MEAN,
	MEASURE_LAST,
	MEASURE_RATIO,	  /* the sum of the column, divided by that of the other */
	MEASURE_OF_CPUS,  /* sum as percent of the time of the CPUs allocated */
	MEASURE_HIGHEST,  /* MB: the larger maximum, of the column (MB) and of the other (KiB) */
	MEASURE_OF_LIMIT, /* MEASURE_HIGHEST as percent of the memory limit */
	MEASURE_WALL,	  /* s until the last process of the task ended */
};

/* A number of one of n's tasks, or of n->all; NaN: not known. */
double task_measure__value(const struct model_node *n, const struct model_task *t,
			   enum task_measure how, const char *column, const char *other);
/* Seconds until the last process of the task ended, at most a row late; its table goes on as long
 * as the step. */
double task_measure__wall_s(const struct model_task *t);

/* CPU time of the collector itself. */
struct collector_cost {
	double probe_s; /* inside all tasks */
	double percent; /* of the tasks' CPU time */
};
struct collector_cost collector_cost__of(const struct model_node *n);

/* The step's part of the node's energy. A file of Slurm's has only the node's energy: then all but
 * node_j and mean_w are NaN. */
struct energy_use {
	double step_j, low_j, high_j; /* estimate and its bounds */
	double dynamic_j;	      /* the part of step_j for the work that the step did */
	double mean_w;		      /* of step_j, else of node_j */
	double node_j; /* of the whole node: by its own sensor, else all parts that were measured */
};
/* Returns false where nothing is known. */
bool energy_use__of(const struct model_node *n, struct energy_use *e);

/* CPU time divided by the time of the allocated CPUs, 0..1. */
double step_efficiency__of(const struct model_step *s);

#endif
