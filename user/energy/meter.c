// SPDX-License-Identifier: GPL-2.0-or-later
/* Joules between two readings of one channel, which may count energy or give power, late or not. */
#include "energy/meter.h"

#include <math.h>

/* A value that is older than this, or than four periods of its source, tells nothing about the
 * present. */
#define STALE_NS (120 * 1000000000ull)

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-9 : 0;
}

static void restart_meter(struct meter *m, const struct channel_state *c)
{
	m->started = !isnan(c->value);
	m->value = c->value;
	m->time_ns = c->time_ns;
	m->gaps = c->gaps;
	m->watts = m->reached = NAN;
}

static double take_quick(struct meter *m, const struct channel_state *c)
{
	double joules = c->value - m->value;

	m->value = c->value;
	m->time_ns = c->time_ns;
	return joules >= 0 ? joules : NAN;
}

/* Where a counter is now, that was last seen at time_ns. */
static double take_slow(struct meter *m, const struct channel_state *c, uint64_t now_ns)
{
	double from = m->reached, joules;

	if (c->time_ns > m->time_ns) {
		m->watts = (c->value - m->value) / seconds_between(m->time_ns, c->time_ns);
		m->value = c->value;
		m->time_ns = c->time_ns;
	}
	if (isnan(m->watts))
		return NAN;
	m->reached = m->value + m->watts * seconds_between(m->time_ns, now_ns);
	if (isnan(from))
		from = m->reached - m->watts * seconds_between(m->until_ns, now_ns);
	joules = m->reached - from;
	if (joules >= 0)
		return joules;
	m->reached = from; /* it went slower than was taken: wait for it */
	return 0;
}

static double take_power(const struct meter *m, const struct channel_state *c, uint64_t now_ns)
{
	uint64_t stale = 4 * c->channel->period_ns;

	if (stale < STALE_NS)
		stale = STALE_NS;
	if (!m->until_ns || !(c->value >= 0) || now_ns > c->time_ns + stale)
		return NAN;
	return c->value * seconds_between(m->until_ns, now_ns);
}

double meter__take(struct meter *m, const struct channel_state *c, uint64_t now_ns)
{
	double joules = NAN;

	if (c->channel->quantity == QUANTITY_POWER)
		joules = take_power(m, c, now_ns);
	else if (!m->started || m->gaps != c->gaps || isnan(c->value))
		restart_meter(m, c);
	else
		joules = c->ops->slow ? take_slow(m, c, now_ns) : take_quick(m, c);
	m->until_ns = now_ns;
	return joules;
}
