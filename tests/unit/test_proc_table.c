// SPDX-License-Identifier: GPL-2.0-or-later
/* Network interfaces and disks, on made-up machines. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "sensor/core/text.h"
#include "tests/unit/machine.h"

#define DEV  "proc/net/dev"
#define DISK "proc/diskstats"

static void are_the_tables(const char *const *wanted)
{
	const char *last = "";

	for (unsigned i = 0; i < m.n; i++) {
		if (!strcmp(m.c[i].series, last))
			continue;
		last = m.c[i].series;
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

	machine_on("node", &sensor_netdev);
	are_the_tables(wanted);
	assert_false(m.ops->slow);
}

TEST(numbers_of_an_interface)
{
	machine_on("node", &sensor_netdev);
	machine_put(DEV,
		    "a\\nb\\n"
		    "  eno2: 1100 21 2 3 0 0 0 8 2500 27 4 5 0 0 0 0\\n"
		    "eno1:2101081484 42219 1 2 3 4 5 6 1698131 23336 7 8 9 10 11 12\\n"
		    "  eth0:    7000      70    0    0    0     0          0         0     8000\\n"
		    "  eno2: 9999 21 2 3 0 0 0 8 2500 27 4 5 0 0 0 0");
	reads("NetDev/eno2", "RxMB=100, TxMB=500, RxPackets=11, TxPackets=7, RxErrors=2, "
			     "RxDrops=3, TxErrors=4, TxDrops=5, Multicast=8");
	expect("NetDev/eno1", "TxMB=1");
	/* A line that is cut off, and none. */
	expect("NetDev/eth0", "RxMB=0, TxPackets=none");
	expect("NetDev/ib0", "RxMB=none");
}

TEST(an_interface_that_was_made_anew)
{
	machine_on("node", &sensor_netdev);
	/* Fewer packets: it is another one, whatever its bytes are. */
	machine_put(DEV, "eno2: 5000 9 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	reads("NetDev/eno2", "RxMB=gap 0, TxMB=gap 0");
	machine_put(DEV, "eno2: 5001 10 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	reads("NetDev/eno2", "RxMB=1");
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

	machine_on("node", &sensor_netdev);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		machine_put(DEV, bad[i]);
		machine_read(-ENODATA);
		expect("NetDev/eno2", "RxMB=none");
	}
}

TEST(a_file_that_goes_or_is_huge)
{
	machine_on("node", &sensor_netdev);
	shell("mv %s/" DEV " %s/gone", m.dir, m.dir);
	machine_read(0); /* it has it open, and it is there */
	machine_remove("gone");
	machine_read(-ENOENT);
	expect("NetDev/eno1", "RxMB=none");
	shell("truncate -s %u %s/" DEV, TEXT_MAX / 2, m.dir);
	machine_read(-ENODATA); /* a NUL ends it */
	shell("yes 'x: 1 2 3' | head -c %u > %s/" DEV, TEXT_MAX + 1, m.dir);
	machine_read(-EFBIG);
	machine_put(DEV, "eno2: 5001 10 0 0 0 0 0 0 6000 20 0 0 0 0 0 0");
	reads("NetDev/eno2", "RxMB=gap 0");
}

/* One that is made later, and one more line than a buffer holds. */
TEST(many_interfaces)
{
	machine_on("node", &sensor_netdev);
	shell("cd %s && { for i in $(seq 2000); do echo \"veth$i: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
	      "1\"; "
	      "done; echo 'ib0: 501 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0'; } > " DEV,
	      m.dir);
	reads("NetDev/ib0", "RxMB=1");
	expect("NetDev/eno1", "RxMB=none");
	assert_null(channel_of("NetDev/veth1", "RxMB"));
}

TEST(more_than_there_is_room_for)
{
	machine_make("node");
	shell("cd %s && for i in $(seq 300); do mkdir -p sys/class/net/e$i/device; "
	      "echo \"e$i: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\"; done >> " DEV,
	      m.dir);
	machine_probe(&sensor_netdev, 0, "256 with a device");
	machine_probe(&sensor_netdev, 0, "more are left out");
}

TEST(whole_disks_with_a_device)
{
	static const char *const wanted[] = {"Disk/cciss-c0d0", "Disk/nvme0n1", "Disk/sda",
					     "Disk/sdb", NULL};

	machine_on("node", &sensor_disks);
	are_the_tables(wanted);
	/* A kernel that counts no discards yet. */
	assert_null(channel_of("Disk/sdb", "Discards"));
	assert_non_null(channel_of("Disk/sda", "Flushes"));
}

TEST(numbers_of_a_disk)
{
	machine_on("node", &sensor_disks);
	machine_put(DISK,
		    "   8       0 sda 18838040 289870 319192722 7751041 3028073 869414 245072736 "
		    "803223 2 "
		    "765820 8739332 1513713 103 164117791 158393 209497 26673\\n"
		    " 104       0 cciss/c0d0 8 0 64 1 8 0 64 2 0 3 3 0 0 0 0 0 0");
	machine_read(0);
	expect("Disk/sda",
	       "Reads=1, ReadMB=%.17g, Writes=2, WriteMB=%.17g, ReadTime=0.001, WriteTime=0.003, "
	       "BusyTime=0.004, QueueTime=0.005, Discards=6, DiscardMB=%.17g, Flushes=8",
	       8.0 * 512, 16.0 * 512, 7.0 * 512);
	expect("Disk/cciss-c0d0", "Reads=1");
	expect("Disk/nvme0n1", "Reads=none");
}

/* Milliseconds have 32 bits. */
TEST(times_run_past_their_range)
{
	machine_on("node", &sensor_disks);
	machine_put(DISK, "8 16 sdb 101 0 808 4 10 0 80 20 0 30 94");
	reads("Disk/sdb", "ReadTime=0.100, QueueTime=0.100");
	/* A disk in its place: what it has read is less. */
	machine_put(DISK, "8 16 sdb 90 0 8080 5 11 0 88 21 0 31 95");
	reads("Disk/sdb", "ReadTime=gap 0.100, Writes=gap 0");
	/* Far from the range's end it has not run past it. */
	machine_put(DISK, "8 16 sdb 90 0 8080 4 11 0 88 21 0 31 95");
	reads("Disk/sdb", "ReadTime=gap 0.100");
}

TEST(a_node_without_them)
{
	machine_make("");
	strcpy(m.proc, "/proc");
	machine_lacks(&sensor_netdev);
	machine_lacks(&sensor_disks);
}

static struct unit_fixture fixture = {.teardown = machine_end};
