/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes the idle time of cores and GPUs, and how many of them a job did not use. */
#include "analysis/pika/pika.h"

#include <math.h>

#define FEWEST_KNOWN	 3
#define OTHERS_OF_UNUSED 1 /* bins that an unused unit may work in */

const struct analysis_param idle__params[] = {
	{"cpu_load_below", IDLE_CPU_LOAD},
	{"gpu_load_above", 0},
	{"unused_known_bins", FEWEST_KNOWN},
	{"unused_busy_bins", OTHERS_OF_UNUSED},
	{NULL, 0},
};

struct unit_bins {
	unsigned known, idle;
};

static struct unit_bins count_unit(const struct matrix *load, unsigned unit, double threshold)
{
	struct unit_bins n = {0};

	for (unsigned b = 0; b < load->bins; b++) {
		double v = matrix__at(load, unit, b);

		n.known += !isnan(v);
		n.idle += threshold > 0 ? v < threshold : v == 0;
	}
	return n;
}

void idle__of(const struct matrix *load, double threshold, double dt_s, unsigned *idle_bins,
	      struct idle *out)
{
	size_t idle = 0, known = 0;
	unsigned unused = 0;

	for (unsigned u = 0; u < load->units; u++) {
		struct unit_bins n = count_unit(load, u, threshold);

		idle += n.idle;
		known += n.known;
		unused += n.known >= FEWEST_KNOWN && n.idle + OTHERS_OF_UNUSED >= n.known;
		if (idle_bins)
			idle_bins[u] = n.idle;
	}
	*out = (struct idle){
		.verdict = known ? (struct analysis_verdict){ANALYSIS_OK, ""}
				 : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_values"},
		.known = known,
		.missing = (size_t)load->units * load->bins - known,
		.idle_s = dt_s * idle,
		.total_s = dt_s * known,
		.idle_ratio = known ? (double)idle / known : NAN,
		.unused_units = unused,
		.unused_ratio = known ? (double)unused / load->units : NAN,
		.unused_to_used = known && unused < load->units
					  ? (double)unused / (load->units - unused)
					  : NAN,
	};
}
