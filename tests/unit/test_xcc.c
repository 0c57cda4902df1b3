// SPDX-License-Identifier: GPL-2.0-or-later
/* Energy and power of Lenovo's BMC: answers, a made-up BMC with its moods, and who is asked. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/sensors.h"
#include "sensor/ipmi/xcc.h"
#include "tests/unit/machine.h"

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

/* The one that tests talk to. */
static struct bmc bmc;

static void talk_to(void)
{
	machine_close();
	m.ops = &sensor_xcc;
	assert_int_equal(open_bmc(&m.s, &bmc), 0);
	m.n = sensor_xcc.channels(m.s, &m.c);
}

static struct sensor_value read_it(int want)
{
	machine_read(want);
	return m.v[0];
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
	uint64_t before = clock__boot_ns();
	struct sensor_value v;

	bmc = an_sd650();
	talk_to();
	assert_int_equal(m.n, 1);
	assert_string_equal(m.c->name, "Node energy");
	assert_string_equal(m.c->unit, "J");
	assert_int_equal(m.c->part, PART_NODE);
	assert_int_equal(m.c->quantity, QUANTITY_ENERGY);
	v = read_it(0);
	assert_float_equal(v.value, 0, 0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_in_range(v.time_ns, before, clock__boot_ns());
	bmc.joules += 300, bmc.mj = 500, bmc.seconds++;
	assert_float_equal(read_it(0).value, 300.25, 1e-9);
	machine_close();
	assert_int_equal(bmc.closed, 1);
}

TEST(the_count_comes_round)
{
	struct sensor_value v;

	bmc = an_sd650();
	bmc.joules = UINT32_MAX;
	talk_to();
	read_it(0);
	usleep(20000); /* enough for what follows at 50 kW */
	bmc.joules = 9, bmc.mj = 250, bmc.seconds++;
	v = read_it(0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_float_equal(v.value, 10, 1e-9);
	bmc.joules = 5; /* the BMC was started anew: nobody knows what it missed */
	v = read_it(0);
	assert_int_equal(v.quality, READING_GAP);
	assert_float_equal(v.value, 10, 1e-9);
	bmc.joules = 7;
	v = read_it(0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_float_equal(v.value, 12, 1e-9);
}

TEST(watts_where_it_tells_power)
{
	struct sensor_value first, again;

	bmc = (struct bmc){.maker = 19046, .power = true, .watts = 325, .mw = 500, .seconds = 7};
	talk_to();
	assert_int_equal(m.n, 1);
	assert_string_equal(m.c->name, "Node power");
	assert_int_equal(m.c->quantity, QUANTITY_POWER);
	first = read_it(0);
	assert_float_equal(first.value, 325.5, 1e-9);
	again = read_it(0);
	assert_int_equal(again.quality, READING_REPEATED);
	assert_int_equal(again.time_ns, first.time_ns);
	bmc.ms++;
	assert_int_equal(read_it(0).quality, READING_GOOD);
	bmc.watts = 0, bmc.mw = 0;
	assert_true(isnan(read_it(-ENODATA).value));
	bmc.watts = UINT32_MAX;
	assert_true(isnan(read_it(-ENODATA).value));
}

TEST(moods_of_a_bmc)
{
	bmc = an_sd650();
	talk_to();
	read_it(0);
	bmc.busy = 2, bmc.joules++;
	assert_float_equal(read_it(0).value, 1, 1e-9);
	bmc.hang = true;
	assert_int_equal(read_it(-ETIME).quality, READING_NONE);
	bmc.hang = false;
	bmc.len = 20;
	assert_int_equal(read_it(-EPROTO).quality, READING_NONE);
	bmc.len = 0;
	bmc.power = true; /* it cannot be another machine now */
	assert_int_equal(read_it(-ENODATA).quality, READING_NONE);
	bmc.power = false, bmc.joules++;
	assert_float_equal(read_it(0).value, 2, 1e-9);
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
	machine_put("dev/ipmi0", "a file is no BMC");
	machine_lacks(&sensor_xcc);
	machine_put("sys/class/dmi/id/sys_vendor", "Supermicro");
	machine_lacks(&sensor_xcc);
	assert_non_null(strstr(m.why, "vendor"));
	machine_put("sys/class/dmi/id/sys_vendor", "Lenovo");
	machine_probe(&sensor_xcc, 0, "");
	assert_int_equal(sensor__open(&sensor_xcc, &m.s, &m.roots), -ENOTTY);
	machine_remove("dev/ipmi0");
	machine_probe(&sensor_xcc, -ENOENT, "modprobe");
}

static struct unit_fixture fixture = {.setup = empty_machine, .teardown = machine_end};
