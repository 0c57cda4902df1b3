/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of rhythm: stops for I/O, turns of CPU and GPU, and bursts of opened files, as PIKA finds
 * them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "analysis/pika/pika.h"
#include "base/known.h"

#define MB    1048576.0
#define EDGE  0.05 /* of the cores: less is no part of a stop */
#define QUIET 0.25

/* The vectors of a job; all have as many bins as are whole. */
struct rhythm {
	unsigned n;
	double *cpu, *read, *write, *opens, *gpu;
	double *room; /* for another one */
};

static void fill_rhythm(struct rhythm *r, const struct facts *f, const struct model_job *j)
{
	for (unsigned k = 0; k < r->n; k++) {
		r->cpu[k] = f->values[FACT_BIN_cpu_s][k] / f->values[FACT_BIN_cores_s][k];
		r->read[k] = f->values[FACT_BIN_read_mb][k] * MB / j->grid.dt_s / j->nnodes;
		r->write[k] = f->values[FACT_BIN_write_mb][k] * MB / j->grid.dt_s / j->nnodes;
		r->opens[k] = f->values[FACT_BIN_opens][k] / j->grid.dt_s / j->nnodes;
		r->gpu[k] = f->values[FACT_BIN_gpu][k];
	}
}

static double idle_share(const struct facts *f, unsigned bin)
{
	double cores_s = f->values[FACT_BIN_cores_s][bin];

	return cores_s > 0 ? 1 - f->values[FACT_BIN_cpu_s][bin] / cores_s : NAN;
}

/* What is usually idle: the median of the bins with little I/O, nearer to the least than to the
 * mean.
 */
static double usual_idle(const struct facts *f, const double *io, unsigned n, double mean,
			 double *room)
{
	double least = mean;
	unsigned known = 0;

	for (unsigned k = 0; k < n; k++)
		least = fmin(least, io[k]);
	for (unsigned k = 0; k < n; k++)
		if (io[k] <= least + QUIET * (mean - least) && !isnan(idle_share(f, k)))
			room[known++] = idle_share(f, k);
	return facts__median(room, known);
}

/* Core-seconds that were idle, beyond what usually is, in the bins with more I/O than the mean; and
 * in the bins beside these, where a stop begins, or its last wait ends, with less I/O. */
static double idle_in_stops(const struct facts *f, const double *io, unsigned n, double *room)
{
	double mean = 0, sum = 0, usual;

	for (unsigned k = 0; k < n; k++)
		mean += io[k] / n;
	usual = usual_idle(f, io, n, mean, room);
	for (unsigned k = 0; k < n; k++) {
		double more = idle_share(f, k) - usual;
		bool beside = (k && io[k - 1] >= mean) || (k + 1 < n && io[k + 1] >= mean);

		if (io[k] >= mean || (beside && more > EDGE))
			sum += isnan(more) ? 0 : more * f->values[FACT_BIN_cores_s][k];
	}
	return isnan(usual) ? NAN : known__not_negative(sum);
}

static int fill_io(struct facts *f, const struct model_job *j, const struct rhythm *r)
{
	const struct periodic_vector vectors[] = {
		{PERIODIC_BANDWIDTH, r->read},
		{PERIODIC_BANDWIDTH, r->write},
		{PERIODIC_METADATA, r->opens},
	};
	struct periodic found;
	unsigned which;
	int err = periodic__strongest(r->cpu, vectors, 3, r->n, j->grid.dt_s, j->grid.end_s, &found,
				      &which);

	if (err)
		return err;
	if (isnan(facts__sum(j, Q_READ)) && isnan(facts__sum(j, Q_WRITE)))
		return 0;
	*f->values[FACT_JOB_io_periods] = 0;
	if (which == 3)
		return 0;
	*f->values[FACT_JOB_io_periods] = found.period_num;
	*f->values[FACT_JOB_io_period_s] = 1 / found.freq_hz;
	*f->values[FACT_JOB_io_period_idle_s] = idle_in_stops(f, vectors[which].v, r->n, r->room);
	return 0;
}

static int fill_gpu(struct facts *f, const struct model_job *j, const struct rhythm *r)
{
	const struct periodic_vector vector = {PERIODIC_GPU, r->gpu};
	struct periodic found;
	int err;

	if (!j->ngpus)
		return 0;
	err = periodic__of(r->cpu, &vector, r->n, j->grid.dt_s, j->grid.end_s, &found);
	if (err)
		return err;
	*f->values[FACT_JOB_gpu_periods] = found.is_detected ? found.period_num : 0;
	if (found.is_detected)
		*f->values[FACT_JOB_gpu_period_s] = 1 / found.freq_hz;
	return 0;
}

static void fill_congestion(struct facts *f, const struct rhythm *r, unsigned nodes)
{
	double max = NAN;

	for (unsigned k = 0; k < r->n; k++)
		max = fmax(max, r->opens[k] * nodes);
	*f->values[FACT_JOB_io_congestion_ops] = max;
}

int facts_periods__fill(struct facts *f, const struct model_job *j)
{
	unsigned n = (unsigned)floor(j->grid.end_s / j->grid.dt_s + 1e-9);
	double *room = calloc(6 * (size_t)n + 1, sizeof(*room));
	struct rhythm r = {n,
			   room,
			   room + n,
			   room + 2 * (size_t)n,
			   room + 3 * (size_t)n,
			   room + 4 * (size_t)n,
			   room + 5 * (size_t)n};
	int err = room ? 0 : -ENOMEM;

	if (!err) {
		fill_rhythm(&r, f, j);
		fill_congestion(f, &r, j->nnodes);
		err = fill_io(f, j, &r);
	}
	if (!err)
		err = fill_gpu(f, j, &r);
	free(room);
	return err;
}
