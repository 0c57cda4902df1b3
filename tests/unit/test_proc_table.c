// SPDX-License-Identifier: GPL-2.0-only
/* Network interfaces and disks, on made-up machines. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "sensor/core/text.h"
#include "sensors.h"
#include "opened.h"

#define DEV  "proc/net/dev"
#define DISK "proc/diskstats"

static void are_the_tables(struct opened *o, const char *const *wanted)
{
	const char *last = "";

	for (unsigned i = 0; i < o->n; i++) {
		if (!strcmp(o->c[i].series, last))
			continue;
		last = o->c[i].series;
		assert_non_null(*wanted);
		assert_string_equal(last, *wanted++);
	}
	assert_null(*wanted);
}

/* Not the bond, the bridge and lo; not the lower half of eth1, nor what stands for a function. */
TEST(interfaces_with_a_device_of_their_own)
{
	static const char *const wanted[] = {"NetDev/eno1", "NetDev/eno2", "NetDev/eth0",
					     "NetDev/ib0", NULL};
	struct opened o;

	set_up(&o, &sensor_netdev, "node");
	are_the_tables(&o, wanted);
	assert_false(o.ops->slow);
	close_it(&o);
}

TEST(numbers_of_an_interface)
{
	struct opened o;

	set_up(&o, &sensor_netdev, "node");
	machine_put(&o.m, DEV,
		    "a\\nb\\n"
		    "  eno2: 1100 21 2 3 0 0 0 8 2500 27 4 5 0 0 0 0\\n"
		    "eno1:2101081484 42219 1 2 3 4 5 6 1698131 23336 7 8 9 10 11 12\\n"
		    "  eth0:    7000      70    0    0    0     0          0         0     8000\\n"
		    "  eno2: 9999 21 2 3 0 0 0 8 2500 27 4 5 0 0 0 0");
	read_it(&o);
	expect(&o, "NetDev/eno2", "RxMB", READING_GOOD, 100);
	expect(&o, "NetDev/eno2", "TxMB", READING_GOOD, 500);
	expect(&o, "NetDev/eno2", "RxPackets", READING_GOOD, 11);
	expect(&o, "NetDev/eno2", "TxPackets", READING_GOOD, 7);
	expect(&o, "NetDev/eno2", "RxErrors", READING_GOOD, 2);
	expect(&o, "NetDev/eno2", "RxDrops", READING_GOOD, 3);
	expect(&o, "NetDev/eno2", "TxErrors", READING_GOOD, 4);
	expect(&o, "NetDev/eno2", "TxDrops", READING_GOOD, 5);
	expect(&o, "NetDev/eno2", "Multicast", READING_GOOD, 8);
	expect(&o, "NetDev/eno1", "TxMB", READING_GOOD, 1);
	/* A line that is cut off, and none. */
	expect(&o, "NetDev/eth0", "RxMB", READING_GOOD, 0);
	expect(&o, "NetDev/eth0", "TxPackets", READING_NONE, NAN);
	expect(&o, "NetDev/ib0", "RxMB", READING_NONE, NAN);
	close_it(&o);
}

TEST(an_interface_that_was_made_anew)
{
	struct opened o;

	set_up(&o, &sensor_netdev, "node");
	/* Fewer packets: it is another one, whatever its bytes are. */
	machine_put(&o.m, DEV, "eno2: 5000 9 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	read_it(&o);
	expect(&o, "NetDev/eno2", "RxMB", READING_GAP, 0);
	expect(&o, "NetDev/eno2", "TxMB", READING_GAP, 0);
	machine_put(&o.m, DEV, "eno2: 5001 10 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	read_it(&o);
	expect(&o, "NetDev/eno2", "RxMB", READING_GOOD, 1);
	close_it(&o);
}

TEST(garbage_has_no_values)
{
	static const char *const bad[] = {
		"",
		"eno2",
		"eno2:",
		":::",
		"eno2: -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"eno2: 99999999999999999999999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"eno2: 1x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"eno: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"eno22: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aa"
		"aaaaaaaaaaaaaaaaaaaaaaaaa: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
	};
	struct opened o;

	set_up(&o, &sensor_netdev, "node");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		machine_put(&o.m, DEV, bad[i]);
		assert_int_equal(o.ops->read(o.s, o.v), -ENODATA);
		expect(&o, "NetDev/eno2", "RxMB", READING_NONE, NAN);
	}
	close_it(&o);
}

TEST(a_file_that_goes_or_is_huge)
{
	struct opened o;
	char cmd[256], path[128];

	set_up(&o, &sensor_netdev, "node");
	snprintf(path, sizeof(path), "%s/" DEV, o.m.dir);
	assert_int_equal(rename(path, "/tmp/jobprof-sensors.dev"), 0);
	read_it(&o); /* it has it open, and it is there */
	assert_int_equal(unlink("/tmp/jobprof-sensors.dev"), 0);
	assert_int_equal(o.ops->read(o.s, o.v), -ENOENT);
	expect(&o, "NetDev/eno1", "RxMB", READING_NONE, NAN);
	snprintf(cmd, sizeof(cmd), "truncate -s %u %s", TEXT_MAX / 2, path);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(o.ops->read(o.s, o.v), -ENODATA); /* a NUL ends it */
	snprintf(cmd, sizeof(cmd), "yes 'x: 1 2 3' | head -c %u > %s", TEXT_MAX + 1, path);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(o.ops->read(o.s, o.v), -EFBIG);
	machine_put(&o.m, DEV, "eno2: 5001 10 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	read_it(&o);
	expect(&o, "NetDev/eno2", "RxMB", READING_GAP, 0);
	close_it(&o);
}

/* One that is made later, and one more line than a buffer holds. */
TEST(many_interfaces)
{
	struct opened o;
	char cmd[400];

	set_up(&o, &sensor_netdev, "node");
	snprintf(cmd, sizeof(cmd),
		 "cd %s && { for i in $(seq 2000); do echo \"veth$i: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
		 "1\"; "
		 "done; echo 'ib0: 501 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0'; } > " DEV,
		 o.m.dir);
	assert_int_equal(system(cmd), 0);
	read_it(&o);
	expect(&o, "NetDev/ib0", "RxMB", READING_GOOD, 1);
	expect(&o, "NetDev/eno1", "RxMB", READING_NONE, NAN);
	assert_null(channel_of(&o, "NetDev/veth1", "RxMB"));
	close_it(&o);
}

TEST(more_than_there_is_room_for)
{
	struct opened o;
	struct machine m;
	char cmd[512], why[128];

	machine_copy(&m, "node");
	snprintf(cmd, sizeof(cmd),
		 "cd %s && for i in $(seq 300); do mkdir -p sys/class/net/e$i/device; "
		 "echo \"e$i: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\"; done >> " DEV,
		 m.dir);
	assert_int_equal(system(cmd), 0);
	o = (struct opened){.m = m, .ops = &sensor_netdev};
	assert_int_equal(sensor__probe(o.ops, &m.roots, why, sizeof(why)), 0);
	assert_non_null(strstr(why, "256 with a device"));
	assert_non_null(strstr(why, "more are left out"));
	close_it(&o);
}

TEST(whole_disks_with_a_device)
{
	static const char *const wanted[] = {"Disk/cciss-c0d0", "Disk/nvme0n1", "Disk/sda",
					     "Disk/sdb", NULL};
	struct opened o;

	set_up(&o, &sensor_disks, "node");
	are_the_tables(&o, wanted);
	/* A kernel that counts no discards yet. */
	assert_null(channel_of(&o, "Disk/sdb", "Discards"));
	assert_non_null(channel_of(&o, "Disk/sda", "Flushes"));
	close_it(&o);
}

TEST(numbers_of_a_disk)
{
	struct opened o;

	set_up(&o, &sensor_disks, "node");
	machine_put(&o.m, DISK,
		    "   8       0 sda 18838040 289870 319192722 7751041 3028073 869414 245072736 "
		    "803223 2 "
		    "765820 8739332 1513713 103 164117791 158393 209497 26673\\n"
		    " 104       0 cciss/c0d0 8 0 64 1 8 0 64 2 0 3 3 0 0 0 0 0 0");
	read_it(&o);
	expect(&o, "Disk/sda", "Reads", READING_GOOD, 1);
	expect(&o, "Disk/sda", "ReadMB", READING_GOOD, 8 * 512);
	expect(&o, "Disk/sda", "Writes", READING_GOOD, 2);
	expect(&o, "Disk/sda", "WriteMB", READING_GOOD, 16 * 512);
	expect(&o, "Disk/sda", "ReadTime", READING_GOOD, 0.001);
	expect(&o, "Disk/sda", "WriteTime", READING_GOOD, 0.003);
	expect(&o, "Disk/sda", "BusyTime", READING_GOOD, 0.004);
	expect(&o, "Disk/sda", "QueueTime", READING_GOOD, 0.005);
	expect(&o, "Disk/sda", "Discards", READING_GOOD, 6);
	expect(&o, "Disk/sda", "DiscardMB", READING_GOOD, 7 * 512);
	expect(&o, "Disk/sda", "Flushes", READING_GOOD, 8);
	expect(&o, "Disk/cciss-c0d0", "Reads", READING_GOOD, 1);
	expect(&o, "Disk/nvme0n1", "Reads", READING_NONE, NAN);
	close_it(&o);
}

/* Milliseconds have 32 bits. */
TEST(times_run_past_their_range)
{
	struct opened o;

	set_up(&o, &sensor_disks, "node");
	machine_put(&o.m, DISK, "8 16 sdb 101 0 808 4 10 0 80 20 0 30 94");
	read_it(&o);
	expect(&o, "Disk/sdb", "ReadTime", READING_GOOD, 0.100);
	expect(&o, "Disk/sdb", "QueueTime", READING_GOOD, 0.100);
	/* A disk in its place: what it has read is less. */
	machine_put(&o.m, DISK, "8 16 sdb 90 0 8080 5 11 0 88 21 0 31 95");
	read_it(&o);
	expect(&o, "Disk/sdb", "ReadTime", READING_GAP, 0.100);
	expect(&o, "Disk/sdb", "Writes", READING_GAP, 0);
	/* Far from the range's end it has not run past it. */
	machine_put(&o.m, DISK, "8 16 sdb 90 0 8080 4 11 0 88 21 0 31 95");
	read_it(&o);
	expect(&o, "Disk/sdb", "ReadTime", READING_GAP, 0.100);
	close_it(&o);
}

TEST(a_node_without_them)
{
	static const struct sensor_ops *const all[] = {&sensor_netdev, &sensor_disks};
	struct sensor_roots roots = {.sys = "/nonexistent", .proc = "/proc"};

	are_absent(all, 2, &roots);
}
