// SPDX-License-Identifier: GPL-2.0-or-later
/* A site's own sources: what they may declare, and what becomes of what they say. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/plugin/plugin.h"
#include "sensor/sensors.h"
#include "schema/series.h"
#include "tests/unit/machine.h"

/* What the made-up plug-in says; by call. */
static struct {
	int open, tables, read;
	const char *const *names;
	struct jobprof_sensor_value value[4];
	unsigned opened, closed;
	const char *sys;
} says;

static int fake_open(void **state, const struct jobprof_sensor_roots *roots)
{
	*state = &says;
	says.sys = roots->sys;
	says.opened += !says.open;
	return says.open;
}

static int fake_tables(void *state, const char *const **names)
{
	assert_ptr_equal(state, &says);
	*names = says.names;
	return says.tables;
}

static int fake_read(void *state, struct jobprof_sensor_value *v)
{
	unsigned n = 2 * (says.tables > 1 ? (unsigned)says.tables : 1);

	for (unsigned i = 0; i < n; i++) {
		assert_true(isnan(v[i].value) && !v[i].time_ns && !v[i].quality);
		v[i] = says.value[i];
	}
	return says.read;
}

static void fake_close(void *state)
{
	assert_ptr_equal(state, &says);
	says.closed++;
}

static struct jobprof_sensor_column columns[2];
static struct jobprof_sensor good;
static char endless[1 << 16];

static int set_up(void **state)
{
	memset(endless, 'x', sizeof(endless) - 1);
	memset(&says, 0, sizeof(says));
	strcpy(m.sys, "/made/up");
	columns[0] = (struct jobprof_sensor_column){"Temp", "C", "How warm.", JOBPROF_SENSOR_LEVEL};
	columns[1] = (struct jobprof_sensor_column){"Drops", "", "Of water.", JOBPROF_SENSOR_COUNT};
	good = (struct jobprof_sensor){
		.abi = JOBPROF_SENSOR_ABI,
		.size = sizeof(good),
		.ncolumns = 2,
		.name = "loop-1",
		.doc = "the water that cools it",
		.series = "Water",
		.columns = columns,
		.open = fake_open,
		.read = fake_read,
		.close = fake_close,
	};
	return 0;
}

static int check(const char *needle)
{
	char why[256] = "";
	int err = plugin__check(&good, why, sizeof(why));

	if (needle && !strstr(why, needle))
		fail_msg("\"%s\" does not say \"%s\"", why, needle);
	return err;
}

TEST(what_may_be_declared)
{
	assert_int_equal(check(NULL), 0);
	good.flags = JOBPROF_SENSOR_SLOW;
	good.size += 64; /* of a later version of the same ABI */
	columns[0].unit = "";
	assert_int_equal(check(NULL), 0);
}

TEST(another_abi)
{
	good.abi++;
	assert_int_equal(check("compile it with"), -EPROTONOSUPPORT);
	good.abi--;
	good.size = 16;
	assert_int_equal(check("16 bytes"), -EPROTONOSUPPORT);
}

TEST(names_that_are_none)
{
	static const char *const names[] = {
		"", "Loop", "1x", "lo op", "x\n", endless, "x/y", NULL, "abcdefghijklmnopqrstuvwx"};
	static const char *const series[] = {"",   "1x",  "Wa/ter", "Wasser\xc3\xa4", endless,
					     NULL, "A-B", "..",	    "W ater"};
	static const char *const column[] = {"", "1x", "a b", "Col-umn", endless, NULL, "[x]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		good.name = names[i];
		assert_int_equal(check("its name"), -EINVAL);
	}
	good.name = "x";
	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		good.series = series[i];
		assert_int_equal(check("its series"), -EINVAL);
	}
	good.series = "Water";
	for (size_t i = 0; i < sizeof(column) / sizeof(column[0]); i++) {
		columns[1].name = column[i];
		assert_int_equal(check("column 1 has no name"), -EINVAL);
	}
	columns[1].name = "TEMP";
	assert_int_equal(check("there twice"), -EINVAL);
	columns[1].name = "timens";
	assert_int_equal(check("every table has that"), -EINVAL);
}

TEST(what_is_missing_or_odd)
{
	columns[1].unit = endless;
	assert_int_equal(check("column Drops"), -EINVAL);
	columns[1].unit = NULL;
	assert_int_equal(check("column Drops"), -EINVAL);
	columns[1].unit = "\t";
	assert_int_equal(check("column Drops"), -EINVAL);
	columns[1].unit = "";
	columns[1].doc = "";
	assert_int_equal(check("column Drops"), -EINVAL);
	columns[1].doc = "x";
	columns[1].kind = 2;
	assert_int_equal(check("column Drops"), -EINVAL);
	columns[1].kind = 0;
	good.doc = endless;
	assert_int_equal(check("its doc"), -EINVAL);
	good.doc = "x";
	good.ncolumns = JOBPROF_SENSOR_COLUMNS_MAX + 1;
	assert_int_equal(check("not 1 to 64 columns"), -EINVAL);
	good.ncolumns = 0;
	assert_int_equal(check("not 1 to 64 columns"), -EINVAL);
	good.ncolumns = 2;
	good.read = NULL;
	assert_int_equal(check("no open, read or close"), -EINVAL);
}

/* Whatever series are built in later: their names are not to be had. */
TEST(no_name_of_ours)
{
	for (unsigned i = 0; i < n_builtin_series; i++)
		assert_true(plugin__is_reserved(builtin_series[i].name));
	assert_true(plugin__is_reserved("user"));
	assert_true(plugin__is_reserved("slurm_Energy"));
	assert_false(plugin__is_reserved("Water"));
	good.series = "filesystem";
	assert_int_equal(check("which jobprof has itself"), -EINVAL);
}

static const struct sensor_ops *source;

/* One slot for all tests: there are few. */
static void open_source(unsigned n)
{
	if (!source)
		source = plugin__source(&good);
	assert_non_null(source);
	assert_ptr_equal(plugins__of(source), &good);
	machine_open(source);
	assert_int_equal(m.n, n);
	assert_string_equal(says.sys, "/made/up");
}

static void give(double temperature, double drops)
{
	says.value[0] = (struct jobprof_sensor_value){.value = temperature};
	says.value[1] = (struct jobprof_sensor_value){.value = drops};
}

TEST(channels_and_values)
{
	uint64_t before = clock__boot_ns();

	open_source(2);
	assert_string_equal(m.c[0].name, "Temp");
	assert_string_equal(m.c[0].series, "Water");
	assert_string_equal(m.c[0].column, "Temp");
	assert_string_equal(m.c[0].unit, "C");
	assert_int_equal(m.c[0].quantity, QUANTITY_LEVEL);
	assert_int_equal(m.c[1].quantity, QUANTITY_COUNT);
	assert_int_equal(m.c[1].part, PART_OTHER);
	give(-3.5, 1e6);
	reads("", "Temp=-3.5, Drops=0");
	assert_in_range(m.v[0].time_ns, before, clock__boot_ns());
	give(4, 1e6 + 7);
	says.value[0].quality = JOBPROF_SENSOR_REPEATED;
	says.value[0].time_ns = before;
	reads("", "Temp=repeated 4");
	assert_int_equal(m.v[0].time_ns, before);
	expect("", "Drops=7");
	machine_close();
	assert_int_equal(says.closed, 1);
}

TEST(gaps_of_counts)
{
	open_source(2);
	give(1, 100);
	machine_read(0);
	give(1, 110);
	reads("", "Drops=10");
	give(1, 50); /* fell */
	reads("", "Drops=gap 10");
	give(1, NAN);
	reads("", "Drops=none");
	give(1, 60); /* was away */
	reads("", "Drops=gap 10");
	give(1, 61);
	reads("", "Drops=11");
	give(1, 500);
	says.value[1].quality = JOBPROF_SENSOR_GAP; /* by its own word */
	reads("", "Drops=gap 11");
	give(1, 501);
	reads("", "Drops=12");
	machine_close();
}

TEST(lies)
{
	static const struct {
		int says, is;
	} errors[] = {{1, -EIO},	   {INT32_MIN, -EIO},	 {-5000, -EIO},
		      {-EACCES, -EACCES},  {-ETIMEDOUT, -ETIME}, {-EAGAIN, -ENODATA},
		      {-ENODATA, -ENODATA}};

	open_source(2);
	give(INFINITY, -1);
	machine_read(-ENODATA);
	expect("", "Temp=none, Drops=none");
	give(1, INFINITY);
	says.value[0].quality = 99;
	machine_read(-ENODATA);
	give(1, 1);
	says.value[0].quality = JOBPROF_SENSOR_DENIED;
	says.value[1].time_ns = UINT64_MAX;
	reads("", "Temp=denied");
	assert_true(m.v[1].time_ns <= clock__boot_ns());
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		give(1, 1);
		says.read = errors[i].says;
		machine_read(errors[i].is);
		expect("", errors[i].is == -EACCES ? "Temp=denied" : "Temp=none");
	}
	machine_close();
}

TEST(tables_of_a_series)
{
	static const char *const names[] = {"in", "out-2"};

	good.tables = fake_tables;
	says.tables = 2;
	says.names = names;
	open_source(4);
	assert_string_equal(m.c[3].series, "Water/out-2");
	assert_string_equal(m.c[3].name, "out-2 Drops");
	assert_string_equal(m.c[2].column, "Temp");
	give(1, 2);
	says.value[2] = (struct jobprof_sensor_value){.value = 3};
	says.value[3] = (struct jobprof_sensor_value){.value = 4};
	machine_read(0);
	assert_true(m.v[2].value == 3 && m.v[2].quality == READING_GOOD);
	machine_close();
}

TEST(tables_that_are_none)
{
	static const char *const lists[][2] = {
		{"a", "a"},	{"a", "../b"},
		{"", "b"},	{"a", NULL},
		{"a", endless}, {"a", ".."},
		{"a b", "c"},	{"a", "b\n"},
		{"a", "-"},	{"a", "x23456789012345678901234"},
	};

	good.tables = fake_tables;
	if (!source)
		source = plugin__source(&good);
	says.tables = 2;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		says.names = lists[i];
		assert_int_equal(sensor__open(source, &m.s, &m.roots), -EINVAL);
	}
	says.names = NULL;
	assert_int_equal(sensor__open(source, &m.s, &m.roots), -EINVAL);
	says.tables = JOBPROF_SENSOR_TABLES_MAX + 1;
	assert_int_equal(sensor__open(source, &m.s, &m.roots), -E2BIG);
	says.tables = 0;
	assert_int_equal(sensor__open(source, &m.s, &m.roots), -ENOENT);
	says.tables = -EIO;
	assert_int_equal(sensor__open(source, &m.s, &m.roots), -EIO);
	assert_int_equal(says.opened, says.closed);
	says.open = 7;
	assert_int_equal(sensor__open(source, &m.s, &m.roots), -EIO);
	assert_int_equal(says.opened, says.closed);
}

/* Without a probe of its own it is opened to find out. */
TEST(probing)
{
	if (!source)
		source = plugin__source(&good);
	machine_probe(source, 0, "");
	assert_string_equal(m.why, "the water that cools it");
	assert_int_equal(says.closed, 1);
	says.open = -ENOENT;
	machine_probe(source, -ENOENT, "");
	assert_int_equal(says.closed, 1);
}

/* The last one: they stay. */
TEST(there_are_so_many)
{
	const struct sensor_ops *other = NULL;
	unsigned n = 0;

	while ((other = plugin__source(&good)))
		n++;
	assert_in_range(n, PLUGINS_MAX - 1, PLUGINS_MAX);
	assert_null(plugins__of(sensor_sources[0]));
}

static struct unit_fixture fixture = {.setup = set_up};
