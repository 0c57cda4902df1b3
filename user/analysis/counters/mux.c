// SPDX-License-Identifier: GPL-2.0-or-later
/* Scales counters that shared the hardware with others to the whole interval. */
#include "analysis/counters/counters.h"

#include <math.h>

#define LOW_CONFIDENCE 0.10

enum analysis_status mux__scale(double count, double enabled, double running, struct mux_count *m)
{
	*m = (struct mux_count){NAN, enabled > 0 ? running / enabled : NAN, false};
	if (!(running > 0))
		return ANALYSIS_UNAVAILABLE;
	m->scaled = count * enabled / running;
	m->is_low_confidence = m->running_part < LOW_CONFIDENCE;
	return isnan(m->scaled) ? ANALYSIS_UNAVAILABLE : ANALYSIS_OK;
}
