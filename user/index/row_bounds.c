/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a row may claim, whoever wrote it: a profile, the row in one, or a line of import. A time
 * that no job has is a reason to refuse all of it; an amount that its CPUs, GPUs and nodes cannot
 * have worked, used or moved is not known, so that sums and lists of others stay what they are.
 */
#include "index/row.h"

#include <math.h>
#include <time.h>

#define FIRST_START 946684800.0 /* 2000-01-01: Slurm is younger */
#define YEAR_S	    (366 * 86400.0)
#define CLOCKS_S    3600 /* that clocks may differ by */

/* Bounds are of plausible hardware, twice and more of what there is. */
#define MARGIN	   1.1	/* of clocks and of rounding */
#define SHORT_S	   60	/* likewise, of what takes seconds alone */
#define NODE_W	   3000 /* of what is no CPU or GPU */
#define CPU_W	   50
#define GPU_W	   2000
#define NODE_BYTES 1e12 /* B/s through one node, from memory as well */

bool row__is_slurms(const struct row *r)
{
	const double sources = r->number[INDEX_sources];

	return sources > 0 && (int)sources & ROW_SOURCE_SLURM;
}

const char *row__find_bad_time(const struct row *r, bool is_of_slurm)
{
	const double start = r->number[INDEX_start], elapsed = r->number[INDEX_elapsed_s];

	if (start < FIRST_START)
		return "it says that its job began before the year 2000";
	if (start > (double)time(NULL) + CLOCKS_S)
		return "it says that its job begins later than now";
	if (!is_of_slurm && elapsed > YEAR_S)
		return "it says that its job ran longer than a year";
	return NULL;
}

/* A node has a CPU at least: what a row says of nodes is bounded by its CPUs. */
static double nodes_of(const struct row *r)
{
	return fmin(r->number[INDEX_nodes], r->number[INDEX_cpus]);
}

static double seconds_of(const struct row *r)
{
	return r->number[INDEX_elapsed_s] * MARGIN + SHORT_S;
}

double row__most_bw(const struct row *r)
{
	return nodes_of(r) * NODE_BYTES;
}

double row__most_bytes(const struct row *r)
{
	return seconds_of(r) * row__most_bw(r);
}

static double most_core_s(const struct row *r)
{
	return seconds_of(r) * r->number[INDEX_cpus];
}

/* Where tasks are not bound to their CPUs they use more, and Slurm has counted that, too. */
static double most_cpu_s(const struct row *r)
{
	const double slurms = row__is_slurms(r) ? r->number[INDEX_slurm_cpu_s] * MARGIN : NAN;

	return fmax(most_core_s(r), slurms);
}

static double most_gpu_s(const struct row *r)
{
	return seconds_of(r) * r->number[INDEX_gpus];
}

static double most_energy_j(const struct row *r)
{
	const double gpus = r->number[INDEX_gpus];

	return seconds_of(r) * (nodes_of(r) * NODE_W + r->number[INDEX_cpus] * CPU_W +
				(gpus > 0 ? gpus * GPU_W : 0));
}

void row__bound(struct row *r)
{
	static const struct {
		enum index_column of;
		double (*most)(const struct row *r);
	} bounds[] = {
		{INDEX_cpu_s, most_cpu_s},	     {INDEX_energy_j, most_energy_j},
		{INDEX_energy_low_j, most_energy_j}, {INDEX_energy_high_j, most_energy_j},
		{INDEX_idle_cpu_s, most_core_s},     {INDEX_idle_of_cpu_s, most_core_s},
		{INDEX_idle_gpu_s, most_gpu_s},	     {INDEX_idle_of_gpu_s, most_gpu_s},
		{INDEX_read_bytes, row__most_bytes}, {INDEX_write_bytes, row__most_bytes},
		{INDEX_read_bw_max, row__most_bw},   {INDEX_write_bw_max, row__most_bw},
	};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
		if (!(r->number[bounds[i].of] <= bounds[i].most(r)))
			r->number[bounds[i].of] = NAN;
	if (!row__is_slurms(r) && r->number[INDEX_start] - r->number[INDEX_submit] > YEAR_S)
		r->number[INDEX_submit] = NAN;
}
