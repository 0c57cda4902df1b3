/* SPDX-License-Identifier: GPL-2.0-only */
/* I/O congestion: the highest rate at which a job opens and closes files. */
#include "analysis/pika/pika.h"

#include <math.h>

#define ATTRIBUTED_FROM 40 /* operations/s */

const struct analysis_param io_congestion__params[] = {
	{"attributed_from", ATTRIBUTED_FROM},
	{NULL, 0},
};

void io_congestion__of(const struct matrix *rates, struct io_congestion *out)
{
	*out = (struct io_congestion){
		.verdict = {ANALYSIS_UNAVAILABLE, "no_values"},
		.max_rate = NAN,
		.ioc = NAN,
		.max_rate_unit = NAN,
	};
	for (size_t i = 0; i < (size_t)rates->units * rates->bins; i++) {
		out->max_rate_unit = fmax(out->max_rate_unit, rates->v[i]);
		*(isnan(rates->v[i]) ? &out->missing : &out->known) += 1;
	}
	if (isnan(out->max_rate_unit))
		return;
	for (unsigned b = 0; b < rates->bins; b++) {
		double rate = matrix__sum_known(rates, b);

		rate = isnan(rate) ? 0 : rate;
		if (b && rate <= out->max_rate)
			continue;
		out->max_rate = rate;
		out->bin = b;
	}
	out->verdict = (struct analysis_verdict){ANALYSIS_OK, ""};
	out->is_attributed = out->max_rate >= ATTRIBUTED_FROM;
	out->ioc = out->is_attributed ? out->max_rate : 0;
}
