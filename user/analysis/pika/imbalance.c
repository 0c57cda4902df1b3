/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes load imbalance: how far the loads of units are apart, on average over time. */
#include "analysis/pika/pika.h"

#include <math.h>

#define ATTRIBUTED_ABOVE 0.2

const struct analysis_param imbalance__params[] = {
	{"attributed_above", ATTRIBUTED_ABOVE},
	{NULL, 0},
};

/* Returns the sum over units of the squared distance to their mean. */
static double squares(const struct matrix *load, unsigned bin, double mean)
{
	double sum = 0;

	for (unsigned u = 0; u < load->units; u++) {
		double d = matrix__at(load, u, bin) - mean;

		sum += d * d;
	}
	return sum;
}

/* The sum is divided by units - 1: a population's deviation of loads 0..1 never exceeds 0.5, but
 * PIKA shows higher values. */
void imbalance__of(const struct matrix *load, struct imbalance *out)
{
	double sample = 0, population = 0;
	unsigned valid = 0;

	for (unsigned b = 0; b < load->bins; b++) {
		double total = matrix__total(load, b), sum;

		if (isnan(total))
			continue;
		sum = squares(load, b, total / load->units);
		sample += load->units > 1 ? sqrt(sum / (load->units - 1)) : 0;
		population += sqrt(sum / load->units);
		valid++;
	}
	*out = (struct imbalance){
		.verdict =
			valid ? (struct analysis_verdict){ANALYSIS_OK, ""}
			      : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "no_whole_bins"},
		.known = valid,
		.missing = load->units ? load->bins - valid : 0,
		.mean_sd = valid ? sample / valid : NAN,
		.mean_sd_population = valid ? population / valid : NAN,
	};
	out->is_attributed = out->mean_sd > ATTRIBUTED_ABOVE;
}
