// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of peaks: what it means for a node, what is refused, and how new peaks replace old ones;
 * the statistics of passes; the speeds of links in a made-up tree. */

#include "tests/unit/unit.h"
#include "peaks/measure.h"
#include "peaks/peaks.h"

static char said[16384]; /* what the last read_text() wrote to stderr */

static int read_file_of(struct peaks *p, const char *path, const char *node)
{
	int saved = dup(STDERR_FILENO), ret;
	FILE *f = tmpfile();
	size_t n;

	dup2(fileno(f), STDERR_FILENO);
	ret = peaks__read(p, path, node);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	fclose(f);
	return ret;
}

static int read_text(struct peaks *p, const char *text, const char *node)
{
	put_text(unit_dir, "peaks.conf", text);
	chmod(in_dir("peaks.conf"), 0644);
	return read_file_of(p, in_dir("peaks.conf"), node);
}

static double value(const struct peaks *p, enum peak_kind kind)
{
	return p->of[kind].value;
}

TEST(the_last_section_that_names_the_node_counts)
{
	static const char text[] = "flopspeak=1.5T IpcPeak=4\n"
				   "Nodes=n[1-4],m7\nMemBandwidthPeak=40G,39.5G,41G # triad\n"
				   "Nodes=\"gpu*,n3\"\nMemBandwidthPeak=100G\nCPUs=64\n";
	struct peaks p;

	assert_int_equal(read_text(&p, text, "n2"), 0);
	assert_string_equal(said, "");
	assert_true(value(&p, PEAK_FLOPS) == 1.5e12 && isnan(p.of[PEAK_FLOPS].min));
	assert_true(value(&p, PEAK_IPC) == 4);
	assert_true(value(&p, PEAK_MEMORY) == 40e9 && p.of[PEAK_MEMORY].min == 39.5e9 &&
		    p.of[PEAK_MEMORY].max == 41e9);
	assert_true(isnan(value(&p, PEAK_CPUS)) && isnan(value(&p, PEAK_NETWORK)));
	assert_int_equal(read_text(&p, text, "gpu12"), 0);
	assert_true(value(&p, PEAK_MEMORY) == 100e9 && value(&p, PEAK_CPUS) == 64);
	assert_true(value(&p, PEAK_FLOPS) == 1.5e12);
}

TEST(a_list_with_a_star_has_no_ranges)
{
	struct peaks p;

	assert_int_equal(read_text(&p, "Nodes=a,gpu*,n3\nFlopsPeak=2\n", "n3"), 0);
	assert_true(value(&p, PEAK_FLOPS) == 2);
	assert_int_equal(read_text(&p, "Nodes=gpu*\nFlopsPeak=2\n", "gp"), 0);
	assert_true(isnan(value(&p, PEAK_FLOPS)));
	assert_int_equal(read_text(&p, "Nodes=n[1-2]*\nFlopsPeak=2\n", "n1"), -EINVAL);
	assert_int_equal(read_text(&p, "Nodes=a**\nFlopsPeak=2\n", "n1"), -EINVAL);
	assert_int_equal(read_text(&p, "Nodes=n[1-\nFlopsPeak=2\n", "n1"), -EINVAL);
	assert_int_equal(read_text(&p, "Nodes=n[1-99999999]\nFlopsPeak=2\n", "n1"), -EINVAL);
}

static void refused(const char *text, const char *message)
{
	struct peaks p;

	if (read_text(&p, text, "n1") != -EINVAL)
		fail_msg("\"%s\" is taken", text);
	if (!strstr(said, message))
		fail_msg("\"%s\" is not in: %s", message, said);
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		assert_true(isnan(p.of[i].value));
}

TEST(what_is_no_peak_is_refused_and_nothing_is_known)
{
	static const char *const bad[] = {"0",
					  "-1",
					  "1e9",
					  "nan",
					  "inf",
					  "0x10",
					  "1GG",
					  "G",
					  "1,2",
					  "1,,2",
					  "1,2,3",
					  "2,1,",
					  "2,3,4",
					  "1,2,0.5",
					  "1,1,1,1",
					  "1 G",
					  "1.2.3",
					  "1,5",
					  "99999999999999999999999999",
					  "4000000E",
					  "\"\""};
	char text[128];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "FlopsPeak=7\nIpcPeak=2\nMemBandwidthPeak=%s\n",
			 bad[i]);
		refused(text, "peaks.conf:3: ");
	}
	refused("CPUs=4,4,4\n", "CPUs");
	refused("MemBandwithPeak=1G\n", "did you mean \"MemBandwidthPeak\"?");
	refused("Nodes=other\nMemBandwidthPeak=x\n", "peaks.conf:2: ");
	refused("MemBandwidthPeak\n", "expected Key=Value");
}

TEST(a_missing_file_is_no_error_and_a_strange_one_is)
{
	struct peaks p;

	assert_int_equal(read_file_of(&p, "/nonexistent/peaks", "n1"), -ENOENT);
	assert_string_equal(said, "");
	assert_true(isnan(value(&p, PEAK_MEMORY)));
	assert_int_equal(read_file_of(&p, "/dev/zero", "n1"), -ENOTSUP);
	assert_non_null(strstr(said, "/dev/zero"));
}

/* The file as it is after new peaks of the memory for a list. Freed by the caller. */
static char *replaced(const char *old, const char *list, double peak)
{
	FILE *from = old ? fmemopen((void *)old, strlen(old), "r") : NULL, *to;
	struct peaks p;
	char *text;
	size_t len;

	peaks__init(&p);
	p.of[PEAK_MEMORY] = (struct peak){peak, peak / 2, peak * 2};
	to = open_memstream(&text, &len);
	assert_int_equal(peaks__replace(from, to, list, &p, "today"), 0);
	fclose(to);
	if (from)
		fclose(from);
	return text;
}

static void becomes(const char *old, const char *list, double peak, const char *wanted)
{
	char *text = replaced(old, list, peak);

	assert_string_equal(text, wanted);
	free(text);
}

TEST(new_peaks_replace_old_ones_of_their_section_and_nothing_else)
{
#define NEW "# jobprof calibrate: today\nMemBandwidthPeak=8.000000G,4.000000G,16.000000G\n"
	becomes(NULL, "n1", 8e9, "Nodes=n1\n" NEW);
	becomes("IpcPeak=4", "n1", 8e9, "IpcPeak=4\n\nNodes=n1\n" NEW);
	becomes("# mine\nMemBandwidthPeak=1\n nodes = \"n1\" # here\n# kept\nFlopsPeak=2\n"
		"  membandwidthpeak=3\n# jobprof calibrate: old\n\n# of "
		"n2\nNodes=n2\nMemBandwidthPeak=4\n",
		"n1", 8e9,
		"# mine\nMemBandwidthPeak=1\n nodes = \"n1\" # here\n# kept\nFlopsPeak=2\n" NEW
		"\n# of n2\nNodes=n2\nMemBandwidthPeak=4\n");
	becomes("Nodes=n1\n\n", "n1", 8e9, "Nodes=n1\n" NEW "\n");
	becomes("Nodes=n11\nMemBandwidthPeak=1\n", "n1", 8e9,
		"Nodes=n11\nMemBandwidthPeak=1\n\nNodes=n1\n" NEW);
#undef NEW
}

TEST(what_is_written_is_read)
{
	static const double values[] = {0.125, 1, 999.5, 1234567, 4.123456789e10, 2e15, 3.3e19};
	struct peaks p;

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *text = replaced(NULL, "n[1-3]", values[i]);

		assert_int_equal(read_text(&p, text, "n3"), 0);
		if (fabs(value(&p, PEAK_MEMORY) / values[i] - 1) > 1e-6 ||
		    fabs(p.of[PEAK_MEMORY].max / values[i] / 2 - 1) > 1e-6)
			fail_msg("%s is not %g", text, values[i]);
		free(text);
	}
}

TEST(a_peak_is_the_median_of_its_passes)
{
	struct measure m = {.pass = {4, 1, 3, 2}, .npasses = 4};
	struct peak p = measure__peak(&m);

	assert_true(p.value == 2.5 && p.min == 1 && p.max == 4);
	assert_true(measure__spread(&m) == 3 / 2.5);
	m.npasses = 3;
	assert_true(measure__peak(&m).value == 3);
	m.npasses = 1;
	assert_true(measure__peak(&m).value == 4 && isnan(measure__spread(&m)));
	m.npasses = 0;
	assert_true(isnan(measure__peak(&m).value));
}

static struct measure network_of(const char *sys)
{
	struct measure_opts o = {.sys = sys};
	struct measure m = {0};

	network__measure(&o, &m);
	return m;
}

static void put_interface(const char *name, const char *state, const char *speed, bool device)
{
	char path[96];

	snprintf(path, sizeof(path), "sys/class/net/%s/type", name);
	put_text(unit_dir, path, "1\n");
	snprintf(path, sizeof(path), "sys/class/net/%s/operstate", name);
	put_text(unit_dir, path, state);
	snprintf(path, sizeof(path), "sys/class/net/%s/speed", name);
	put_text(unit_dir, path, speed);
	snprintf(path, sizeof(path), "sys/class/net/%s/device/vendor", name);
	if (device)
		put_text(unit_dir, path, "0x15b3\n");
}

static void put_port(const char *name, const char *layer, const char *state, const char *rate)
{
	char path[96];

	snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/link_layer", name);
	put_text(unit_dir, path, layer);
	snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/state", name);
	put_text(unit_dir, path, state);
	snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/rate", name);
	put_text(unit_dir, path, rate);
}

TEST(the_network_is_the_sum_of_its_fastest_links)
{
	struct measure m;
	char sys[80];

	snprintf(sys, sizeof(sys), "%s/sys", unit_dir);
	m = network_of(sys);
	assert_true(!m.npasses && m.absent && strstr(m.error, "is up"));
	put_interface("eth0", "up\n", "-1\n", true);
	m = network_of(sys);
	assert_true(!m.npasses && m.absent && strstr(m.error, "eth0"));
	put_interface("eth1", "up\n", "1000\n", true);
	put_interface("veth3", "up\n", "10000\n", false);
	put_interface("eth4", "down\n", "100000\n", true);
	assert_true(network_of(sys).pass[0] == 125e6);
	put_interface("eth2", "up\n", "25000\n", true);
	put_interface("eth5", "up\n", "25000\n", true);
	assert_true(network_of(sys).pass[0] == 6.25e9);
	put_port("mlx5_0", "InfiniBand\n", "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
	put_port("mlx5_1", "Ethernet\n", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
	put_port("mlx5_2", "InfiniBand\n", "1: DOWN\n", "400 Gb/sec (4X NDR)\n");
	put_port("mlx5_3", "InfiniBand\n", "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
	m = network_of(sys);
	assert_true(m.pass[0] == 50e9 && m.npasses == 1 && strstr(m.how, "2 x 200 Gb/s"));
}

static void put_cache(unsigned cpu, unsigned index, const char *level, const char *size,
		      const char *shared)
{
	char path[96];

	snprintf(path, sizeof(path), "c/devices/system/cpu/cpu%u/cache/index%u/level", cpu, index);
	put_text(unit_dir, path, level);
	snprintf(path, sizeof(path), "c/devices/system/cpu/cpu%u/cache/index%u/size", cpu, index);
	put_text(unit_dir, path, size);
	snprintf(path, sizeof(path), "c/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list",
		 cpu, index);
	put_text(unit_dir, path, shared);
}

TEST(a_cache_that_cpus_share_counts_once)
{
	static const int cpus[] = {0, 1, 2}, last[] = {2};
	char sys[80];

	snprintf(sys, sizeof(sys), "%s/c", unit_dir);
	for (unsigned i = 0; i < 3; i++) {
		put_cache(i, 0, "1\n", "32K\n", i == 2 ? "2\n" : "0-1\n");
		put_cache(i, 3, "3\n", "32768K\n", i == 2 ? "2-3\n" : "0-1\n");
	}
	assert_int_equal(node_memory__caches(sys, cpus, 3), 64 << 20);
	assert_int_equal(node_memory__caches(sys, last, 1), 32 << 20);
	assert_int_equal(node_memory__caches("/nonexistent", cpus, 3), 0);
}
