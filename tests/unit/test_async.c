/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source on a thread of its own. The source of these tests stays in a call until it is let go,
 * and the clock that deadlines are counted by is stepped: what comes out does not depend on how
 * fast the machine is.
 */

#include "tests/unit/unit.h"
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/log.h"
#include "sensor/core/async.h"

#define S 1000000000ull

struct sensor {
	int number;
	bool is_open;
	double joules;
};

static atomic_ulong now_ns;
static atomic_int opened, closed, begun, open_err, read_err, quality, names;
static atomic_bool hold_open, hold_read;
static sem_t in_open, go_open, in_read, go_read;

static uint64_t test_now(void)
{
	return now_ns;
}

static int fake_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	assert_string_equal(roots->sys, "/made/up");
	if (hold_open) {
		sem_post(&in_open);
		sem_wait(&go_open);
	}
	if (open_err)
		return open_err;
	s->number = opened++;
	s->is_open = true;
	return 0;
}

static unsigned fake_channels(const struct sensor *s, const struct sensor_channel **out)
{
	static const struct sensor_channel ch[] = {
		{.name = "Node", .unit = "J", .quantity = QUANTITY_ENERGY},
		{.name = "Power", .unit = "W", .quantity = QUANTITY_POWER},
		{.name = "More", .unit = "W", .quantity = QUANTITY_POWER},
	};

	*out = ch + (names ? 1 : 0);
	return 2;
}

/* Each reading is 10 J and 10 W more. */
static int fake_read(struct sensor *s, struct sensor_value *v)
{
	begun++;
	if (hold_read) {
		sem_post(&in_read);
		sem_wait(&go_read);
	}
	if (read_err)
		return read_err;
	s->joules += 10;
	v[0] = v[1] = (struct sensor_value){s->joules, now_ns, (enum sensor_quality)quality};
	return 0;
}

static void fake_close(struct sensor *s)
{
	closed += s->is_open;
}

static const struct sensor_ops fake = {.name = "fake",
				       .slow = true,
				       .size = sizeof(struct sensor),
				       .open = fake_open,
				       .channels = fake_channels,
				       .read = fake_read,
				       .close = fake_close};

static const struct sensor_roots roots = {.sys = "/made/up", .proc = "p", .dev = "d"};

static int reset(void **state)
{
	now_ns = 1000 * S;
	opened = closed = begun = open_err = read_err = quality = names = 0;
	hold_open = false;
	hold_read = true;
	sem_init(&in_open, 0, 0);
	sem_init(&go_open, 0, 0);
	sem_init(&in_read, 0, 0);
	sem_init(&go_read, 0, 0);
	return 0;
}

static struct async *begin(void)
{
	const struct async_opts opts = {
		.period_ns = 1, .deadline_ns = 10 * S, .retry_ns = 60 * S, .now = test_now};
	struct async *s;

	assert_int_equal(async__start(&s, &fake, &roots, &opts), 0);
	return s;
}

/* Lets one reading pass, and waits until the thread is in the next one: it is published then. */
static void pass(void)
{
	sem_post(&go_read);
	sem_wait(&in_read);
}

/* Asks until the answer is another one: the thread is on its way to it. */
static int read_until_not(struct async *s, struct sensor_value *v, int err)
{
	const struct sensor_channel *ch;
	int got;

	do {
		async__channels(s, &ch);
		got = async__read(s, v);
		usleep(1000);
	} while (got == err);
	return got;
}

static void wait_for(atomic_int *what, int value)
{
	while (*what < value)
		usleep(1000);
}

/* A source whose first reading has ended and whose channels are known. */
static struct async *begin_reading(void)
{
	const struct sensor_channel *ch;
	struct async *s = begin();

	sem_wait(&in_read);
	pass();
	assert_int_equal(async__channels(s, &ch), 2);
	return s;
}

/* Ends the source, and waits until so many have been closed. */
static void end_reading(struct async *s, int nclosed)
{
	hold_read = false;
	sem_post(&go_read);
	async__stop(s);
	wait_for(&closed, nclosed);
}

static void is_value(const struct sensor_value *v, double value, enum sensor_quality q)
{
	if (v->quality != q || (isnan(value) ? !isnan(v->value) : v->value != value))
		fail_msg("%g %d, not %g %d", v->value, v->quality, value, q);
}

TEST(the_last_values_are_given_with_their_times)
{
	const struct sensor_channel *ch;
	struct sensor_value v[2];
	struct async *s = begin();

	sem_wait(&in_read);
	assert_int_equal(async__channels(s, &ch), 0);
	assert_int_equal(async__read(s, v), -EAGAIN);
	pass();
	assert_int_equal(async__read(s, v), -EAGAIN); /* nobody has asked for the channels */
	assert_int_equal(async__channels(s, &ch), 2);
	assert_string_equal(ch[1].name, "Power");
	now_ns += 5 * S;
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 10, READING_GOOD);
	is_value(&v[1], 10, READING_GOOD);
	assert_int_equal(v[0].time_ns, 1000 * S);
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 10, READING_REPEATED);
	assert_int_equal(v[0].time_ns, 1000 * S);
	pass();
	pass();
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 30, READING_GOOD);
	end_reading(s, 1);
}

/* A gap that the reader has not seen is not covered by the good reading after it. */
TEST(a_gap_is_not_overlooked)
{
	struct sensor_value v[2];
	struct async *s = begin_reading();

	assert_int_equal(async__read(s, v), 0);
	quality = READING_GAP;
	pass();
	quality = READING_GOOD;
	pass();
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 30, READING_GAP);
	pass();
	quality = READING_REPEATED;
	pass();
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 50, READING_GOOD);
	end_reading(s, 1);
}

TEST(who_hangs_delays_nobody_and_is_opened_again)
{
	struct sensor_value v[2];
	struct async *s = begin_reading();

	now_ns += 10 * S;
	assert_int_equal(async__read(s, v), 0); /* just within its time */
	now_ns += 1;
	assert_int_equal(async__read(s, v), -ETIMEDOUT);
	is_value(&v[0], NAN, READING_NONE);
	now_ns += 59 * S;
	assert_int_equal(async__read(s, v), -ETIMEDOUT);
	assert_int_equal(opened, 1);
	now_ns += 1 * S;
	assert_int_equal(async__read(s, v), -ETIMEDOUT); /* a new thread begins */
	sem_wait(&in_read);
	assert_int_equal(opened, 2);
	assert_int_equal(closed, 0);
	/* The first thread comes back: it closes what it had, and nobody sees its value. */
	hold_read = false;
	sem_post(&go_read);
	sem_post(&go_read);
	wait_for(&closed, 1);
	assert_int_equal(read_until_not(s, v, -ETIMEDOUT), 0);
	/* The counter began again, and goes on from where it was. */
	is_value(&v[0], 10, READING_GAP);
	assert_true(v[1].value >= 10 && v[1].quality == READING_GOOD);
	do
		assert_int_equal(async__read(s, v), 0);
	while (v[0].quality == READING_REPEATED);
	assert_true(v[0].value > 10 && v[0].quality == READING_GOOD);
	async__stop(s);
	wait_for(&closed, 2);
}

TEST(no_more_than_four_hang)
{
	struct sensor_value v[2];
	struct async *s = begin();

	for (int i = 1; i <= 10; i++) {
		if (i <= 4)
			sem_wait(&in_read);
		now_ns += 11 * S;
		assert_int_equal(async__read(s, v), -ETIMEDOUT);
		now_ns += 60 * S;
		async__read(s, v);
	}
	assert_int_equal(opened, 4);
	assert_int_equal(begun, 4);
	for (int i = 0; i < 4; i++)
		sem_post(&go_read);
	wait_for(&closed, 4);
	now_ns += 60 * S;
	async__read(s, v);
	sem_wait(&in_read);
	assert_int_equal(opened, 5);
	end_reading(s, 5);
}

TEST(it_stops_while_it_hangs)
{
	struct async *s = begin();

	sem_wait(&in_read);
	async__stop(s);
	assert_int_equal(closed, 0);
	sem_post(&go_read);
	wait_for(&closed, 1);
	assert_int_equal(begun, 1);
	hold_open = true;
	s = begin();
	sem_wait(&in_open);
	async__stop(s);
	sem_post(&go_open);
	wait_for(&closed, 2);
	assert_int_equal(begun, 1);
}

TEST(what_cannot_be_opened_is_tried_again)
{
	struct sensor_value v[2];
	struct async *s;

	open_err = -EACCES;
	s = begin();
	assert_int_equal(read_until_not(s, v, -EAGAIN), -EACCES);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(async__read(s, v), -EACCES);
		usleep(100);
	}
	open_err = 0;
	hold_read = false;
	do {
		now_ns += 60 * S;
		async__read(s, v);
		usleep(1000);
	} while (!opened);
	assert_int_equal(read_until_not(s, v, -EACCES), 0);
	is_value(&v[1], v[1].value, READING_GOOD);
	async__stop(s);
	wait_for(&closed, 1);
}

TEST(a_source_without_a_good_value_has_none)
{
	struct sensor_value v[2];
	struct async *s = begin_reading();

	assert_int_equal(async__read(s, v), 0);
	read_err = -EIO;
	pass();
	assert_int_equal(async__read(s, v), -EIO);
	is_value(&v[0], NAN, READING_NONE);
	read_err = -EACCES;
	pass();
	assert_int_equal(async__read(s, v), -EACCES);
	is_value(&v[1], NAN, READING_DENIED);
	read_err = 0;
	pass();
	assert_int_equal(async__read(s, v), 0);
	is_value(&v[0], 20, READING_GOOD);
	end_reading(s, 1);
}

/* Other channels than the first time: by their names. */
TEST(channels_stay_as_they_were)
{
	const struct sensor_channel *ch;
	struct sensor_value v[2];
	struct async *s = begin_reading();

	assert_int_equal(async__read(s, v), 0);
	now_ns += 11 * S;
	assert_int_equal(async__read(s, v), -ETIMEDOUT);
	names = 1;
	hold_read = false;
	sem_post(&go_read);
	now_ns += 60 * S;
	assert_int_equal(read_until_not(s, v, -ETIMEDOUT), 0);
	assert_int_equal(async__channels(s, &ch), 2);
	assert_string_equal(ch[0].name, "Node");
	is_value(&v[0], NAN, READING_NONE);
	assert_true(v[1].value >= 10);
	async__stop(s);
	wait_for(&closed, 2);
}

static struct unit_fixture fixture = {.setup = reset};
