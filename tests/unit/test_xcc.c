// SPDX-License-Identifier: GPL-2.0-only
/* Energy and power of Lenovo's BMC: answers, a made-up BMC with its moods, and who is asked. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/sensors.h"
#include "sensor/ipmi/xcc.h"
#include "tests/unit/tree.h"

struct bmc {
	unsigned asked; /* for what is Lenovo's own */
	unsigned closed;
	unsigned maker;
	bool power, hang, unknown;
	unsigned busy; /* so many answers are "busy" */
	uint32_t joules, seconds, watts;
	uint16_t mj, ms, mw;
	int len; /* of an answer that is neither; 0: as it should be */
};

static void put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static int answer_reading(struct bmc *b, uint8_t *a)
{
	uint8_t *whole = a + 3, *stamp = a + 1 + (b->power ? 32 : 8);

	memset(a, 0, IPMI_MAX_ANSWER);
	put_le(a + 1, 11, 2);
	put_le(whole, b->power ? b->watts : b->joules, 4);
	put_le(whole + 4, b->power ? b->mw : b->mj, 2);
	put_le(stamp, b->seconds, 4);
	put_le(stamp + 4, b->ms, 2);
	return 1 + (b->len ? b->len : b->power ? XCC_POWER_LEN : XCC_ENERGY_LEN);
}

static int bmc_call(void *context, const struct ipmi_request *req, uint8_t *a, uint64_t deadline_ns)
{
	static const uint8_t data[] = {4, 2, 0, 0, 0};
	struct bmc *b = context;

	a[0] = 0;
	if (b->hang)
		return -ETIMEDOUT;
	if (req->netfn == 6 && req->cmd == 1 && !req->len) {
		memset(a, 0, 16);
		put_le(a + 7, b->maker, 3);
		return 16;
	}
	assert_int_equal(req->netfn, 0x3a);
	assert_int_equal(req->cmd, 0x32);
	assert_int_equal(req->len, sizeof(data));
	assert_memory_equal(req->data, data, sizeof(data));
	b->asked++;
	if (b->busy) {
		b->busy--;
		a[0] = 0xc0;
		return 1;
	}
	if (b->unknown) {
		a[0] = 0xc1;
		return 1;
	}
	return answer_reading(b, a);
}

static void bmc_close(void *context)
{
	((struct bmc *)context)->closed++;
}

static int open_bmc(struct sensor **s, struct bmc *b)
{
	struct ipmi_link link = {b, bmc_call, bmc_close};

	return xcc__open_link(s, &link);
}

static struct bmc an_sd650(void)
{
	return (struct bmc){.maker = 19046, .joules = 1000000, .mj = 250, .seconds = 1700000000};
}

static struct sensor_value read_it(struct sensor *s, int want)
{
	struct sensor_value v;

	assert_int_equal(sensor_xcc.read(s, &v), want);
	return v;
}

/* fifo index, J, mJ, s, ms; bytes made by hand */
TEST(an_answer_with_energy)
{
	static const uint8_t data[] = {0x39, 0x00, 0x1d, 0x85, 0xab, 0x31, 0x29,
				       0x00, 0xbb, 0x6d, 0x8d, 0x5e, 0x7e, 0x00};
	struct xcc_reading r;

	assert_int_equal(xcc__parse(data, sizeof(data), &r), 0);
	assert_true(r.energy);
	assert_int_equal(r.mj, 833324317ull * 1000 + 41);
	assert_int_equal(r.stamp_ms, 1586326971ull * 1000 + 126);
	for (int len = 0; len < 64; len++)
		if (len != XCC_ENERGY_LEN && len != XCC_POWER_LEN && len != XCC_POWER_LEN + 2)
			assert_int_equal(xcc__parse(data, len, &r), -EPROTO);
}

TEST(an_answer_with_power)
{
	uint8_t data[XCC_POWER_LEN] = {8, 0, 0x45, 0x01, 0, 0, 0xf4, 0x01};
	struct xcc_reading r;

	put_le(data + 32, 1700000000, 4);
	put_le(data + 36, 999, 2);
	assert_int_equal(xcc__parse(data, sizeof(data), &r), 0);
	assert_false(r.energy);
	assert_int_equal(r.mw, 325500);
	assert_int_equal(r.stamp_ms, 1700000000999ull);
}

TEST(joules_since_it_was_opened)
{
	struct bmc b = an_sd650();
	uint64_t before = clock__boot_ns();
	const struct sensor_channel *c;
	struct sensor_value v;
	struct sensor *s;

	assert_int_equal(open_bmc(&s, &b), 0);
	assert_int_equal(sensor_xcc.channels(s, &c), 1);
	assert_string_equal(c->name, "Node energy");
	assert_string_equal(c->unit, "J");
	assert_int_equal(c->part, PART_NODE);
	assert_int_equal(c->quantity, QUANTITY_ENERGY);
	v = read_it(s, 0);
	assert_float_equal(v.value, 0, 0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_in_range(v.time_ns, before, clock__boot_ns());
	b.joules += 300, b.mj = 500, b.seconds++;
	assert_float_equal(read_it(s, 0).value, 300.25, 1e-9);
	sensor__close(&sensor_xcc, s);
	assert_int_equal(b.closed, 1);
}

TEST(the_count_comes_round)
{
	struct bmc b = an_sd650();
	struct sensor_value v;
	struct sensor *s;

	b.joules = UINT32_MAX;
	assert_int_equal(open_bmc(&s, &b), 0);
	read_it(s, 0);
	usleep(20000); /* enough for what follows at 50 kW */
	b.joules = 9, b.mj = 250, b.seconds++;
	v = read_it(s, 0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_float_equal(v.value, 10, 1e-9);
	b.joules = 5; /* the BMC was started anew: nobody knows what it missed */
	v = read_it(s, 0);
	assert_int_equal(v.quality, READING_GAP);
	assert_float_equal(v.value, 10, 1e-9);
	b.joules = 7;
	v = read_it(s, 0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_float_equal(v.value, 12, 1e-9);
	sensor__close(&sensor_xcc, s);
}

TEST(watts_where_it_tells_power)
{
	struct bmc b = {.maker = 19046, .power = true, .watts = 325, .mw = 500, .seconds = 7};
	const struct sensor_channel *c;
	struct sensor_value first, again;
	struct sensor *s;

	assert_int_equal(open_bmc(&s, &b), 0);
	assert_int_equal(sensor_xcc.channels(s, &c), 1);
	assert_string_equal(c->name, "Node power");
	assert_int_equal(c->quantity, QUANTITY_POWER);
	first = read_it(s, 0);
	assert_float_equal(first.value, 325.5, 1e-9);
	again = read_it(s, 0);
	assert_int_equal(again.quality, READING_REPEATED);
	assert_int_equal(again.time_ns, first.time_ns);
	b.ms++;
	assert_int_equal(read_it(s, 0).quality, READING_GOOD);
	b.watts = 0, b.mw = 0;
	assert_true(isnan(read_it(s, -ENODATA).value));
	b.watts = UINT32_MAX;
	assert_true(isnan(read_it(s, -ENODATA).value));
	sensor__close(&sensor_xcc, s);
}

TEST(moods_of_a_bmc)
{
	struct bmc b = an_sd650();
	struct sensor *s;

	assert_int_equal(open_bmc(&s, &b), 0);
	read_it(s, 0);
	b.busy = 2, b.joules++;
	assert_float_equal(read_it(s, 0).value, 1, 1e-9);
	b.hang = true;
	assert_int_equal(read_it(s, -ETIME).quality, READING_NONE);
	b.hang = false;
	b.len = 20;
	assert_int_equal(read_it(s, -EPROTO).quality, READING_NONE);
	b.len = 0;
	b.power = true; /* it cannot be another machine now */
	assert_int_equal(read_it(s, -ENODATA).quality, READING_NONE);
	b.power = false, b.joules++;
	assert_float_equal(read_it(s, 0).value, 2, 1e-9);
	sensor__close(&sensor_xcc, s);
}

TEST(only_lenovos_are_asked)
{
	struct bmc supermicro = {.maker = 10876}, hung = {.hang = true}, unknown = an_sd650();
	struct bmc odd = an_sd650();
	struct sensor *s = NULL;

	assert_int_equal(open_bmc(&s, &supermicro), -ENOENT);
	assert_int_equal(supermicro.asked, 0);
	assert_int_equal(open_bmc(&s, &hung), -ETIME);
	unknown.unknown = true;
	assert_int_equal(open_bmc(&s, &unknown), -ENOENT);
	odd.len = 3;
	assert_int_equal(open_bmc(&s, &odd), -ENOENT);
	assert_int_equal(supermicro.closed + hung.closed + unknown.closed + odd.closed, 4);
	assert_null(s);
}

TEST(only_where_the_vendor_is_lenovo)
{
	char dir[] = "/tmp/jp-xcc-XXXXXX", sys[64], dev[64], why[160];
	const struct sensor_roots roots = {.sys = sys, .dev = dev};
	struct sensor *s = NULL;

	assert_non_null(mkdtemp(dir));
	snprintf(sys, sizeof(sys), "%s/sys", dir);
	snprintf(dev, sizeof(dev), "%s/dev", dir);
	put(dev, "ipmi0", "a file is no BMC");
	assert_int_equal(sensor__probe(&sensor_xcc, &roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor__open(&sensor_xcc, &s, &roots), -ENOENT);
	put(sys, "class/dmi/id/sys_vendor", "Supermicro\n");
	assert_int_equal(sensor__probe(&sensor_xcc, &roots, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "vendor"));
	assert_int_equal(sensor__open(&sensor_xcc, &s, &roots), -ENOENT);
	put(sys, "class/dmi/id/sys_vendor", "Lenovo\n");
	assert_int_equal(sensor__probe(&sensor_xcc, &roots, why, sizeof(why)), 0);
	assert_int_equal(sensor__open(&sensor_xcc, &s, &roots), -ENOTTY);
	snprintf(why, sizeof(why), "%s/ipmi0", dev);
	assert_int_equal(unlink(why), 0);
	assert_int_equal(sensor__probe(&sensor_xcc, &roots, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "modprobe"));
	snprintf(why, sizeof(why), "rm -r %s", dir);
	assert_int_equal(system(why), 0);
	sensor__close(&sensor_xcc, NULL);
}
