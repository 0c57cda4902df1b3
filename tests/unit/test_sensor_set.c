// SPDX-License-Identifier: GPL-2.0-or-later
/* Which sources a set opens, and parts of a source that come while the set is open. */
#include "tests/unit/unit.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "sensor/core/sensor_set.h"

TEST(sources_are_meant_by_words)
{
	assert_true(sensor_set__means(NULL, "rapl"));
	assert_true(sensor_set__means("all", "rapl"));
	assert_true(sensor_set__means("ipmi, rapl", "rapl"));
	assert_false(sensor_set__means("ipmi", "rapl"));
	assert_false(sensor_set__means("all,-rapl", "rapl"));
	assert_true(sensor_set__means("all,-rapl", "rapl-cores"));
	assert_false(sensor_set__means("", "rapl"));
}

static void made_up(const struct sensor *s, const struct sensor_roots *roots, int err, char *text,
		    size_t len)
{
	(void)s;
	(void)roots;
	(void)err;
	snprintf(text, len, "made up");
}

/* A source of as many parts as there are when it is opened; with none it is not there. */
static atomic_uint parts;

struct growing {
	unsigned n;
	struct sensor_channel channel[4];
};

static int growing_open(struct sensor *s, const struct sensor_ops *ops,
			const struct sensor_roots *roots)
{
	struct growing *g = (struct growing *)s;

	(void)ops;
	(void)roots;
	g->n = parts;
	for (unsigned i = 0; i < g->n; i++) {
		g->channel[i] = (struct sensor_channel){.quantity = QUANTITY_COUNT, .cpu = -1};
		snprintf(g->channel[i].name, sizeof(g->channel[i].name), "part %u", i);
	}
	return parts ? 0 : -ENOENT;
}

static unsigned growing_channels(const struct sensor *s, const struct sensor_channel **all)
{
	*all = ((const struct growing *)s)->channel;
	return ((const struct growing *)s)->n;
}

static int growing_read(struct sensor *s, struct sensor_value *v)
{
	for (unsigned i = 0; i < ((const struct growing *)s)->n; i++)
		v[i] = (struct sensor_value){10 * (i + 1), clock__boot_ns(), READING_GOOD};
	return 0;
}

static void growing_close(struct sensor *s)
{
	(void)s;
}

static const struct sensor_ops growing = {.name = "growing",
					  .slow = true,
					  .grows = true,
					  .size = sizeof(struct growing),
					  .open = growing_open,
					  .describe = made_up,
					  .channels = growing_channels,
					  .read = growing_read,
					  .close = growing_close};

static void wait_for(struct sensor_set *b, unsigned n, const struct channel_state **c)
{
	for (unsigned tries = 0; sensor_set__channels(b, c) != n; tries++) {
		assert_true(tries < 5000);
		usleep(2000);
		sensor_set__read(b);
	}
}

/* A channel that is known stays what it is. */
TEST(parts_that_come_later_are_seen)
{
	static const struct sensor_ops *const one[] = {&growing};
	const struct sensor_set_opts opts = {.roots = {"/sys", "/proc", "/dev", NULL},
					     .slow_period_ns = 1000000,
					     .rescan_ns = 1000000};
	const struct channel_state *c;
	const struct sensor_channel *first;
	struct sensor_set *b;

	parts = 0;
	assert_int_equal(sensor_set__open(&b, one, 1, &opts), 0);
	sensor_set__read(b);
	assert_int_equal(sensor_set__channels(b, &c), 0);
	parts = 1;
	wait_for(b, 1, &c);
	first = c[0].channel;
	parts = 3;
	wait_for(b, 3, &c);
	for (unsigned tries = 0; isnan(c[2].value) && tries < 5000; tries++) {
		usleep(2000);
		sensor_set__read(b);
		sensor_set__channels(b, &c);
	}
	assert_ptr_equal(c[0].channel, first);
	assert_string_equal(c[2].channel->name, "part 2");
	near(c[0].value, 10);
	near(c[2].value, 30);
	for (unsigned i = 0; i < 20; i++) { /* there is no more */
		usleep(2000);
		sensor_set__read(b);
	}
	assert_int_equal(sensor_set__channels(b, &c), 3);
	sensor_set__close(b);
}
