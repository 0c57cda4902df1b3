// SPDX-License-Identifier: GPL-2.0-or-later
/* Power by IPMI: settings of Slurm's, messages, and a made-up BMC with its moods. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/ipmi/ipmi.h"
#include "sensor/sensors.h"
#include "sensor/ipmi/ipmi_proto.h"
#include "tests/unit/machine.h"

static int set(struct ipmi_settings *s, const char *key, const char *value)
{
	char err[160] = "";
	int e = ipmi_settings__set(s, key, value, err, sizeof(err));

	assert_int_equal(e == -EINVAL, *err != '\0');
	return e;
}

TEST(slurms_sensors)
{
	struct ipmi_settings s;

	ipmi_settings__init(&s);
	assert_int_equal(set(&s, "EnergyIPMIPowerSensors",
			     "Node=16,19,23,26;Socket0=16,23;Socket1=19,26;SSUP=dcmi"),
			 0);
	assert_int_equal(s.nlabels, 4);
	assert_string_equal(s.label[0].name, "Node");
	assert_int_equal(s.label[0].n, 4);
	assert_int_equal(s.label[0].source[3].record, 26);
	assert_string_equal(s.label[2].name, "Socket1");
	assert_int_equal(s.label[2].source[0].record, 19);
	assert_int_equal(s.label[3].source[0].way, IPMI_BY_DCMI);
	assert_int_equal(set(&s, "energyipmipowersensors", "node=DCMI_ENHANCED"), 0);
	assert_int_equal(s.nlabels, 1);
	assert_int_equal(s.label[0].source[0].way, IPMI_BY_DCMI_ENHANCED);
}

TEST(sensors_that_are_none)
{
	static const char *const bad[] = {
		"",
		";",
		"Node",
		"Node=",
		"=5",
		"Node=1,",
		"Node=,1",
		"Node=-1",
		"Node=0x10",
		"Node=65535",
		"Node=99999999999",
		"CPU=1",
		"Node=1;Node=2",
		"Node=DCM",
		"a/b=1;Node=2",
		"Node=1;averyverylongnamethatdoesnotfitanywhere=2",
		"Node=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
		"29,"
		"30,31,32,33",
	};
	struct ipmi_settings s;

	ipmi_settings__init(&s);
	assert_int_equal(set(&s, "EnergyIPMIPowerSensors", "Node=7"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(set(&s, "EnergyIPMIPowerSensors", bad[i]), -EINVAL);
		assert_int_equal(s.nlabels, 1); /* as it was */
		assert_int_equal(s.label[0].source[0].record, 7);
	}
}

TEST(every_sensor_that_is_none_is_said)
{
	struct ipmi_settings s;
	char err[512];

	ipmi_settings__init(&s);
	assert_int_equal(ipmi_settings__set(&s, "EnergyIPMIPowerSensors", "Node=x,1,y;CPU;Fan=z",
					    err, sizeof(err)),
			 -EINVAL);
	assert_string_equal(err,
			    "sensor \"x\" of \"Node\" is not a record id, DCMI or DCMI_ENHANCED; "
			    "sensor \"y\" of \"Node\" is not a record id, DCMI or DCMI_ENHANCED; "
			    "\"CPU\" is not LABEL=ID,ID...; "
			    "sensor \"z\" of \"Fan\" is not a record id, DCMI or DCMI_ENHANCED");
	assert_int_equal(
		ipmi_settings__set(&s, "EnergyIPMIPowerSensors", "CPU=x", err, sizeof(err)),
		-EINVAL);
	assert_non_null(strstr(err, "\"x\""));
	assert_non_null(strstr(err, "; no label \"Node\""));
}

TEST(other_keys)
{
	struct ipmi_settings s;

	ipmi_settings__init(&s);
	assert_int_equal(set(&s, "EnergyIPMIFrequency", "10"), 0);
	assert_int_equal(s.period_s, 10);
	assert_int_equal(set(&s, "EnergyIPMIFrequency", "0"), -EINVAL);
	assert_int_equal(set(&s, "EnergyIPMITimeout", "3"), 0);
	assert_int_equal(s.timeout_s, 3);
	assert_int_equal(set(&s, "EnergyIPMIVariable", "watts"), 0);
	assert_int_equal(set(&s, "EnergyIPMIVariable", "Amperes"), -EINVAL);
	assert_int_equal(set(&s, "EnergyIPMIDriverDevice", "/dev/ipmi1"), 0);
	assert_string_equal(s.device, "/dev/ipmi1");
	assert_int_equal(set(&s, "EnergyIPMIDriverDevice", "ipmi1"), -EINVAL);
	assert_int_equal(set(&s, "EnergyIPMIIgnoreScanningDisabled", "Yes"), 0);
	assert_true(s.unscanned);
	assert_int_equal(set(&s, "EnergyIPMIIgnoreScanningDisabled", "perhaps"), -EINVAL);
	assert_int_equal(set(&s, "EnergyIPMIUsername", "root"), 1);
	assert_int_equal(set(&s, "EnergyIPMINothing", "1"), -ENOENT);
	assert_int_equal(set(&s, "ProfileHDF5Dir", "/x"), -ENOENT);
}

/* The layout of an answer is DCMI 1.5's table 6-16. */
TEST(an_answer_of_dcmi)
{
	const uint8_t data[] = {0xdc, 0x69, 0x02, 0x64, 0x00, 0x84, 0x03, 0xf4, 0x01,
				0x78, 0x56, 0x34, 0x12, 0xe8, 0x03, 0x00, 0x00, 0x40};
	struct dcmi_power p;

	assert_int_equal(dcmi__parse_power(data, sizeof(data), &p), 0);
	assert_int_equal(p.now, 617);
	assert_int_equal(p.least, 100);
	assert_int_equal(p.most, 900);
	assert_int_equal(p.average, 500);
	assert_int_equal(p.time, 0x12345678);
	assert_int_equal(p.period_ms, 1000);
	assert_true(p.active);
	for (int len = 0; len < (int)sizeof(data); len++)
		assert_int_equal(dcmi__parse_power(data, len, &p), -EPROTO);
}

TEST(windows_of_dcmi)
{
	uint8_t data[] = {0xdc, 1, 5, 2, 3, 0x41, 0x1e, 0x85}, window = 0; /* 1 min, 30 s, 5 h */

	assert_int_equal(dcmi__parse_window(data, sizeof(data), &window), 0);
	assert_int_equal(window, 0x1e);
	assert_int_equal(dcmi__parse_window(data, sizeof(data) - 1, &window), -EPROTO);
	data[4] = 0;
	assert_int_equal(dcmi__parse_window(data, 5, &window), -ENOENT);
}

/* A full sensor record; M, B as they are, the two exponents in one byte. */
static size_t make_record(uint8_t *r, uint16_t id, uint8_t number, uint8_t unit, int mul, int add,
			  uint8_t exps, const char *name)
{
	size_t len = strlen(name);

	memset(r, 0, 48);
	r[0] = (uint8_t)id, r[1] = (uint8_t)(id >> 8);
	r[2] = 0x51, r[3] = SDR_FULL, r[4] = (uint8_t)(43 + len);
	r[5] = 0x20, r[7] = number, r[21] = unit;
	r[24] = (uint8_t)mul, r[25] = (uint8_t)((mul >> 2) & 0xc0);
	r[26] = (uint8_t)add, r[27] = (uint8_t)((add >> 2) & 0xc0);
	r[29] = exps, r[47] = (uint8_t)(0xc0 | len);
	memcpy(r + 48, name, len);
	return 48 + len;
}

TEST(raw_values)
{
	/* y = (M x + B 10^Bexp) 10^Rexp, worked by hand */
	static const struct {
		int m, b;
		uint8_t exps, format, raw;
		double want;
	} cases[] = {
		{4, 0, 0x00, 0, 150, 600},  {-2, 500, 0x00, 0, 100, 300},
		{25, 0, 0xf0, 0, 200, 500}, {1, 3, 0x02, 0, 10, 310},
		{12, 0, 0x10, 0, 5, 600},   {1, 0, 0x00, 2, 0xf6, -10},
		{1, 0, 0x00, 1, 0xf5, -10}, {511, -512, 0x00, 0, 255, 129793},
		{1, 5, 0x0f, 0, 10, 10.5},
	};
	uint8_t r[SDR_MAX];
	struct ipmi_sensor s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = make_record(r, 9, 1, 6, cases[i].m, cases[i].b, cases[i].exps, "P");

		r[20] = (uint8_t)(cases[i].format << 6);
		assert_int_equal(ipmi__parse_sensor(r, len, &s), 0);
		assert_int_equal(s.m, cases[i].m);
		assert_int_equal(s.b, cases[i].b);
		assert_float_equal(ipmi__convert(&s, cases[i].raw), cases[i].want, 1e-9);
	}
	r[20] = 0xc0; /* no analog value */
	assert_int_equal(ipmi__parse_sensor(r, 49, &s), 0);
	assert_true(isnan(ipmi__convert(&s, 1)));
	r[20] = 0, r[23] = 0x70; /* needs a table of the BMC's */
	assert_int_equal(ipmi__parse_sensor(r, 49, &s), 0);
	assert_true(isnan(ipmi__convert(&s, 1)));
}

TEST(broken_records)
{
	uint8_t r[SDR_MAX];
	struct ipmi_sensor s;
	size_t len = make_record(r, 9, 1, 6, 4, 0, 0, "Sys\tPower");

	assert_int_equal(ipmi__parse_sensor(r, len, &s), 0);
	assert_string_equal(s.name, "Sys?Power");
	for (size_t k = 0; k < len; k++)
		assert_int_equal(ipmi__parse_sensor(r, k, &s), -EPROTO);
	r[47] = 0xdf; /* a name behind the end */
	assert_int_equal(ipmi__parse_sensor(r, len, &s), -EPROTO);
}

/* A BMC of two sensors in watts and one of temperature. */
struct bmc {
	unsigned calls, closed;
	unsigned watts;
	uint32_t stamp;
	bool no_dcmi, inactive, hang, no_sdr;
	uint8_t flags;	/* of sensor readings */
	unsigned busy;	/* so many answers are "busy" */
	unsigned stale; /* so many reservations are lost */
	bool circle;	/* each record leads to the first */
};

static int answer_sdr(struct bmc *b, const struct ipmi_request *req, uint8_t *a)
{
	static const struct {
		uint8_t unit;
		int m;
		const char *name;
	} sensors[] = {{1, 1, "CPU1 Temp"}, {6, 4, "Sys Power"}, {6, 2, "PSU1 Input"}};
	unsigned id = req->data[2] | req->data[3] << 8, at = req->data[4], n = req->data[5];
	uint8_t r[SDR_MAX];
	size_t len;

	if (b->stale) {
		b->stale--;
		a[0] = 0xc5;
		return 1;
	}
	id = id ? id : 10;
	if (id < 10 || id > 12 || b->no_sdr) {
		a[0] = 0xcb;
		return 1;
	}
	len = make_record(r, (uint16_t)id, (uint8_t)(id + 100), sensors[id - 10].unit,
			  sensors[id - 10].m, 0, 0, sensors[id - 10].name);
	assert_true(at + n <= len && n <= 32);
	a[1] = (uint8_t)(id == 12 ? 0xff : id + 1);
	a[2] = id == 12 ? 0xff : 0;
	if (b->circle)
		a[1] = 10, a[2] = 0;
	memcpy(a + 3, r + at, n);
	return (int)(3 + n);
}

static int answer_power(struct bmc *b, uint8_t *a)
{
	if (b->no_dcmi) {
		a[0] = 0xc1;
		return 1;
	}
	memset(a, 0, 19);
	a[1] = 0xdc;
	a[2] = a[8] = (uint8_t)b->watts, a[3] = a[9] = (uint8_t)(b->watts >> 8);
	memcpy(a + 10, &b->stamp, 4);
	a[18] = b->inactive ? 0 : 0x40;
	return 19;
}

static int bmc_call(void *context, const struct ipmi_request *req, uint8_t *a, uint64_t deadline_ns)
{
	struct bmc *b = context;

	b->calls++;
	a[0] = 0;
	if (b->hang)
		return -ETIMEDOUT;
	if (b->busy) {
		b->busy--;
		a[0] = 0xc0;
		return 1;
	}
	if (req->netfn == 0x2c && req->cmd == 2)
		return answer_power(b, a);
	if (req->netfn == 0x0a && req->cmd == 0x22) {
		a[1] = a[2] = 1;
		return 3;
	}
	if (req->netfn == 0x0a && req->cmd == 0x23)
		return answer_sdr(b, req, a);
	if (req->netfn == 4 && req->cmd == 0x2d) {
		a[1] = (uint8_t)(b->watts / (req->data[0] == 111 ? 4 : 2));
		a[2] = b->flags ? b->flags : 0xc0;
		return 4;
	}
	a[0] = 0xc1;
	return 1;
}

static void bmc_close(void *context)
{
	((struct bmc *)context)->closed++;
}

static int open_bmc(struct sensor **s, struct bmc *b, const char *sensors)
{
	struct ipmi_link link = {b, bmc_call, bmc_close};
	struct ipmi_settings settings;

	ipmi_settings__init(&settings);
	if (sensors)
		assert_int_equal(set(&settings, "EnergyIPMIPowerSensors", sensors), 0);
	return ipmi__open_link(s, &link, &settings, 0);
}

/* The one that tests talk to. */
static struct bmc bmc;

static void talk_to(const char *sensors)
{
	machine_close();
	m.ops = &sensor_ipmi;
	assert_int_equal(open_bmc(&m.s, &bmc, sensors), 0);
	m.n = sensor_ipmi.channels(m.s, &m.c);
}

static struct sensor_value read_one(int want)
{
	machine_read(want);
	return m.v[0];
}

TEST(dcmi_is_the_nodes_power)
{
	uint64_t before = clock__boot_ns();
	struct sensor_value v;

	bmc = (struct bmc){.watts = 617, .stamp = 1000};
	talk_to(NULL);
	assert_int_equal(m.n, 1);
	assert_string_equal(m.c->name, "Node");
	assert_int_equal(m.c->part, PART_NODE);
	assert_int_equal(m.c->period_ns, 0);
	v = read_one(0);
	assert_float_equal(v.value, 617, 0);
	assert_int_equal(v.quality, READING_GOOD);
	assert_in_range(v.time_ns, before, clock__boot_ns());
	machine_close();
	assert_int_equal(bmc.closed, 1);
}

TEST(a_bmc_that_repeats_itself)
{
	struct sensor_value first, again;

	bmc = (struct bmc){.watts = 300, .stamp = 1000};
	talk_to(NULL);
	first = read_one(0);
	again = read_one(0);
	assert_int_equal(again.quality, READING_REPEATED);
	assert_int_equal(again.time_ns, first.time_ns);
	bmc.stamp++;
	assert_int_equal(read_one(0).quality, READING_GOOD); /* the same power, measured anew */
	bmc.stamp = 0;					     /* has no clock: who knows */
	assert_int_equal(read_one(0).quality, READING_GOOD);
	assert_int_equal(read_one(0).quality, READING_GOOD);
}

TEST(moods_of_a_bmc)
{
	bmc = (struct bmc){.watts = 300};
	talk_to(NULL);
	bmc.busy = 2;
	assert_float_equal(read_one(0).value, 300, 0);
	bmc.busy = 100;
	assert_true(isnan(read_one(-EBUSY).value));
	bmc.busy = 0;
	bmc.inactive = true;
	assert_int_equal(read_one(-ENODATA).quality, READING_NONE);
	bmc.inactive = false;
	bmc.watts = 0;
	assert_int_equal(read_one(-ENODATA).quality, READING_NONE);
	bmc.watts = 250;
	bmc.hang = true;
	assert_int_equal(read_one(-ETIME).quality, READING_NONE);
	bmc.hang = false;
	assert_float_equal(read_one(0).value, 250, 0);
}

/* As OpenBMC: the watts are good, and DCMI is said to be deactivated; then there is no need of a
 * sensor. */
TEST(a_bmc_that_calls_dcmi_deactivated)
{
	bmc = (struct bmc){.watts = 310, .inactive = true};
	talk_to(NULL);
	assert_int_equal(m.n, 1);
	assert_string_equal(m.c->about, "DCMI, which the BMC calls deactivated");
	assert_float_equal(read_one(0).value, 310, 0);
	bmc.watts = 0;
	assert_true(isnan(read_one(-ENODATA).value));
	bmc.watts = 280;
	assert_float_equal(read_one(0).value, 280, 0);
	bmc.inactive = false; /* it measures, and then ends: now that is believed */
	assert_float_equal(read_one(0).value, 280, 0);
	bmc.inactive = true;
	assert_true(isnan(read_one(-ENODATA).value));
	bmc = (struct bmc){.watts = 310};
	talk_to(NULL);
	assert_string_equal(m.c->about, "");
}

TEST(without_dcmi_the_first_sensor_in_watts)
{
	bmc = (struct bmc){.watts = 420, .no_dcmi = true, .stale = 2};
	talk_to(NULL);
	assert_int_equal(m.n, 1);
	assert_float_equal(m.c->step, 4, 0);
	assert_float_equal(read_one(0).value, 420, 0);
	bmc.flags = 0xe0; /* no reading now */
	assert_true(isnan(read_one(-ENODATA).value));
	bmc.flags = 0x80; /* not scanned */
	assert_true(isnan(read_one(-ENODATA).value));
}

TEST(labels_add_their_sensors)
{
	unsigned calls;

	bmc = (struct bmc){.watts = 400};
	talk_to("Node=11,12;PSU=12");
	assert_int_equal(m.n, 2);
	assert_string_equal(m.c[1].name, "PSU");
	assert_int_equal(m.c[1].part, PART_OTHER);
	calls = bmc.calls;
	machine_read(0);
	assert_int_equal(bmc.calls - calls, 2); /* each sensor once */
	assert_float_equal(m.v[0].value, 800, 0);
	assert_float_equal(m.v[1].value, 400, 0);
	bmc.hang = true;
	calls = bmc.calls;
	machine_read(-ETIME);
	assert_int_equal(bmc.calls - calls, 1); /* the second is not waited for */
}

TEST(a_bmc_without_power)
{
	struct bmc none = {.no_dcmi = true, .no_sdr = true}, hung = {.hang = true};
	struct bmc circle = {.no_dcmi = true, .circle = true}, b = {.watts = 1};
	struct sensor *s = NULL;

	assert_int_equal(open_bmc(&s, &none, NULL), -ENOENT);
	assert_int_equal(open_bmc(&s, &circle, NULL), -ENOENT);
	assert_int_equal(open_bmc(&s, &hung, NULL), -ETIME);
	assert_int_equal(open_bmc(&s, &b, "Node=10"), -ENODEV); /* a temperature */
	assert_int_equal(open_bmc(&s, &b, "Node=11,77"), -ENODEV);
	assert_int_equal(none.closed + circle.closed + hung.closed + b.closed, 5);
	assert_null(s);
}

TEST(a_node_without_a_bmc)
{
	machine_lacks(&sensor_ipmi);
	assert_non_null(strstr(m.why, "modprobe"));
	machine_put("dev/ipmi0", "");
	assert_int_equal(sensor__open(&sensor_ipmi, &m.s, &m.roots),
			 -ENOTTY); /* a file is no BMC */
	shell("chmod 0 %s", m.dev);
	be_nobody(true);
	machine_probe(&sensor_ipmi, -EACCES, "");
	be_nobody(false);
}

static struct unit_fixture fixture = {.setup = empty_machine, .teardown = machine_end};
