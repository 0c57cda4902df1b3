/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sensor has read. */
#ifndef JP_TESTS_READING_H
#define JP_TESTS_READING_H

#include "sensor/core/sensor.h"

static void expect_reading(const struct sensor_value *v, enum sensor_quality quality, double want)
{
	assert_int_equal(v->quality, quality);
	if (isnan(want))
		assert_true(isnan(v->value));
	else
		assert_float_equal(v->value, want, 1e-9);
}

#endif
