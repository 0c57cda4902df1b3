/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of nodes: use, clock, speed, and the health of their parts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"

#define ACTIVE_CORES 0.01 /* fewer cores are idle: PIKA's threshold */
#define BUSY_SHARE   0.5  /* of its cores, from which on a node's clock is that of work */
#define SLOW	     0.9  /* of the median of the nodes */

static const double *bins_of(const struct model_job *j, unsigned node, enum quantity q)
{
	return job_unit__bins(&j->nodes[node].unit, q, &j->grid);
}

static bool is_busy(const struct model_job *j, unsigned node, unsigned bin)
{
	const double *cpu = bins_of(j, node, Q_CPU);

	return cpu &&
	       cpu[bin] >= BUSY_SHARE * j->nodes[node].cores * time_grid__span_s(&j->grid, bin);
}

/* Instructions per CPU second in a bin, else the clock; NaN: not known, or the node is not busy. */
static double speed_in(const struct model_job *j, unsigned node, unsigned bin)
{
	const double *cpu = bins_of(j, node, Q_CPU), *done = bins_of(j, node, Q_INSTRUCTIONS);
	const double *clock = bins_of(j, node, Q_CLOCK);

	if (!is_busy(j, node, bin))
		return NAN;
	return !isnan(facts__sum(j, Q_INSTRUCTIONS)) ? done[bin] / cpu[bin] : clock[bin];
}

static double clock_in(const struct model_job *j, unsigned node, unsigned bin)
{
	return is_busy(j, node, bin) ? bins_of(j, node, Q_CLOCK)[bin] : NAN;
}

typedef double (*in_bin)(const struct model_job *j, unsigned node, unsigned bin);

/* The median over the bins of a node. */
static double median_of_node(const struct model_job *j, unsigned node, in_bin value, double *room)
{
	size_t n = 0;

	for (unsigned k = 0; k < j->grid.n; k++) {
		double v = value(j, node, k);

		if (v > 0)
			room[n++] = v;
	}
	return facts__median(room, n);
}

/* Shares of a node's known bins in which its value is slow beside the median of the nodes. */
static void fill_slow(struct facts *f, const struct model_job *j, in_bin value, enum fact share,
		      double *room)
{
	double *slow = f->values[share];
	double *known = calloc(j->nnodes + 1, sizeof(*known));

	for (unsigned i = 0; known && i < j->nnodes; i++)
		slow[i] = 0;
	for (unsigned k = 0; known && k < j->grid.n; k++) {
		size_t n = 0;
		double median;

		for (unsigned i = 0; i < j->nnodes; i++) {
			double v = value(j, i, k);

			if (v > 0)
				room[n++] = v;
		}
		median = n >= 3 ? facts__median(room, n) : NAN;
		for (unsigned i = 0; !isnan(median) && i < j->nnodes; i++) {
			double v = value(j, i, k);

			known[i] += v > 0;
			slow[i] += v > 0 && v < SLOW * median;
		}
	}
	for (unsigned i = 0; known && i < j->nnodes; i++)
		slow[i] = known[i] > 0 ? slow[i] / known[i] : NAN;
	free(known);
}

/* Speeds by their median, and how far each is from it in robust deviations: 1.4826 MAD, and at
 * least 1 % of the median. */
static void fill_speed(struct facts *f, const struct model_job *j, double *room, double *bins)
{
	double *speed = f->values[FACT_NODE_speed], *z = f->values[FACT_NODE_speed_z];
	double median, mad;
	size_t n = 0;

	for (unsigned i = 0; i < j->nnodes; i++) {
		speed[i] = median_of_node(j, i, speed_in, bins);
		if (speed[i] > 0)
			room[n++] = speed[i];
	}
	median = n >= 3 ? facts__median(room, n) : NAN;
	n = 0;
	for (unsigned i = 0; i < j->nnodes; i++) {
		speed[i] /= median;
		if (!isnan(speed[i]))
			room[n++] = fabs(speed[i] - 1);
	}
	mad = fmax(1.4826 * facts__median(room, n), 0.01);
	for (unsigned i = 0; i < j->nnodes; i++)
		z[i] = (speed[i] - 1) / mad;
}

static void fill_active(struct facts *f, const struct model_job *j, unsigned node)
{
	const double *cpu = bins_of(j, node, Q_CPU);
	double bins = 0;

	if (!cpu)
		return;
	for (unsigned k = 0; k < j->grid.n; k++)
		bins += cpu[k] >= ACTIVE_CORES * time_grid__span_s(&j->grid, k);
	f->values[FACT_NODE_active_bins][node] = bins;
	f->values[FACT_NODE_active][node] = bins / j->grid.n;
}

/* The index of the first node with the same processors. */
static double model_number(const struct model_job *j, unsigned node)
{
	for (unsigned i = 0; j->nodes[node].model && i <= node; i++)
		if (j->nodes[i].model && !strcmp(j->nodes[i].model, j->nodes[node].model))
			return i + 1;
	return NAN;
}

static void fill_node(struct facts *f, const struct model_job *j, unsigned i)
{
	const struct job_node *n = &j->nodes[i];

	f->values[FACT_NODE_cores][i] = n->cores;
	f->values[FACT_NODE_wall_s][i] = n->unit.end_s - n->unit.begin_s;
	f->values[FACT_NODE_rows][i] = n->unit.rows;
	f->values[FACT_NODE_coverage][i] =
		fmin(1, n->unit.total[Q_COVERED] / (n->unit.end_s - n->unit.begin_s));
	f->values[FACT_NODE_limit_mb][i] = facts__limit_mb(n);
	f->values[FACT_NODE_oom_limit_mb][i] = n->oom_limit_mb;
	f->values[FACT_NODE_model][i] = model_number(j, i);
	f->values[FACT_NODE_tasks][i] = 0;
	f->values[FACT_NODE_gpus][i] = 0;
	fill_active(f, j, i);
}

int facts_nodes__fill(struct facts *f, const struct model_job *j)
{
	size_t most = j->nnodes > j->grid.n ? j->nnodes : j->grid.n;
	double *room = calloc(most + 1, sizeof(*room)), *bins = calloc(most + 1, sizeof(*bins));
	int err = room && bins ? 0 : -ENOMEM;
	unsigned ntasks;
	const struct job_unit *tasks = facts__main_tasks(j, &ntasks);

	for (unsigned i = 0; !err && i < j->nnodes; i++) {
		fill_node(f, j, i);
		f->values[FACT_NODE_clock_mhz][i] = median_of_node(j, i, clock_in, bins);
	}
	for (unsigned i = 0; !err && i < ntasks; i++)
		f->values[FACT_NODE_tasks][tasks[i].node]++;
	for (unsigned i = 0; !err && i < j->ngpus; i++)
		f->values[FACT_NODE_gpus][j->gpus[i].node]++;
	if (!err) {
		fill_speed(f, j, room, bins);
		fill_slow(f, j, speed_in, FACT_NODE_speed_slow, room);
		fill_slow(f, j, clock_in, FACT_NODE_clock_slow, room);
	}
	free(room);
	free(bins);
	return err;
}
