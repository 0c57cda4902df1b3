/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of the kernel in nanoseconds, and the next instant of a grid. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock__boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t clock__real_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock__mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

void clock__since(uint64_t *since, bool holds, uint64_t now)
{
	if (!holds)
		*since = 0;
	else if (!*since)
		*since = now;
}

uint64_t clock__next_aligned(uint64_t boot_now, uint64_t boot0, uint64_t real0,
			     uint64_t interval_ns)
{
	uint64_t real_now;

	if (!interval_ns)
		return UINT64_MAX;
	/* Unsigned wrap-around makes this right for boot_now < boot0 too. */
	real_now = real0 + (boot_now - boot0);
	return boot_now + (interval_ns - real_now % interval_ns);
}
