// SPDX-License-Identifier: GPL-2.0-or-later
/* Mounts of NFS and Lustre, on made-up machines, and the names of tables. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "sensor/core/counter_set.h"
#include "tests/unit/machine.h"

#define STATS	"proc/self/mountstats"
#define HOME	"device filer1:/export/home mounted on /home with fstype nfs4 statvers=1.1\\n"
#define EVENTS	"\tevents:\t0 0 0 0 30 0 0 0 0 0 0 0 0 0 0 0 0 29 0 0 0 0 0 0 0 0 0 \\n"
#define LLITE	"proc/fs/lustre/llite/scratch-ffff8f5b4d8a3000/stats"
#define DEBUGFS "sys/kernel/debug/lustre/"
#define SNAP	"snapshot_time 1.5 secs.nsecs\\n"

static void sed(const char *path, const char *script)
{
	/* The file stays the same one: the source has it open. */
	shell("cd %s && sed '%s' %s > new && cat new > %s && rm new", m.dir, script, path, path);
}

TEST(each_file_system_once)
{
	const struct sensor_channel *c;

	machine_on("nfs", &sensor_mounts);
	assert_int_equal(m.n, 3 * 12);
	c = channel_of("Mount/home", "ReadMB");
	assert_non_null(c);
	assert_int_equal(c->part, PART_MOUNT);
	assert_string_equal(c->unit, "B");
	assert_string_equal(c->about, "nfs4 filer1:/export/home at /home");
	assert_non_null(channel_of("Mount/opt-apps", "ReadMB"));
	c = channel_of("Mount/data-my_set~6fc1d259", "ReadMB");
	assert_non_null(c);
	assert_string_equal(c->about, "nfs4 filer2:/data/my set at /data/my set");
}

TEST(numbers_of_nfs_4)
{
	machine_on("nfs", &sensor_mounts);
	sed(STATS, "/mounted on \\/home /,/^$/{"
		   "s/bytes:.*/bytes:\\t1100 2010 31 42 505 606 7 8 /;"
		   "s/ READ:.*/ READ: 43 43 0 1 1 0 425 500 0/;"
		   "s/ WRITE:.*/ WRITE: 54 59 0 1 1 0 900 901 0/;"
		   "s/ OPEN:.*/ OPEN: 22 22 0 1 1 0 40 60 0/;"
		   "s/ OPEN_NOATTR:.*/ OPEN_NOATTR: 6 6 0 1 1 0 10 15 0/;"
		   "s/ CLOSE:.*/ CLOSE: 26 26 0 1 1 0 48 72 0/}");
	reads("Mount/home",
	      "Reads=3, ReadMB=101, Writes=4, WriteMB=12, Opens=3, Closes=2, ServerReadMB=5, "
	      "ServerWriteMB=6, Requests=12, MetaRequests=5, RequestTime=0.025, Resends=3");
	expect("Mount/opt-apps", "Reads=0");
}

/* NFS 3 knows no opens: the client does. */
TEST(opens_of_nfs_3)
{
	machine_on("nfs", &sensor_mounts);
	sed(STATS, "s/\\(events:\\t51 1200 3 9\\) 70 \\(.*\\) 65 0 1 4/\\1 75 \\2 66 0 1 4/");
	reads("Mount/opt-apps", "Opens=5, Closes=1");
	expect("Mount/home", "Opens=0");
}

TEST(a_mount_that_goes_and_comes_back)
{
	machine_on("nfs", &sensor_mounts);
	sed(STATS, "/mounted on \\/home /,/^$/d");
	reads("Mount/home", "ReadMB=none");
	expect("Mount/opt-apps", "ReadMB=0");
	/* With a younger mount on its place, that has read more already. */
	machine_put(STATS, HOME "\tage:\t5\\n\tbytes:\t5000 5000 30 40 500 600 7 8");
	reads("Mount/home", "ReadMB=gap 0");
	machine_put(STATS, HOME "\tage:\t6\\n\tbytes:\t5001 5000 30 40 500 600 7 8");
	reads("Mount/home", "ReadMB=1");
	machine_put(STATS, HOME "\tage:\t1\\n\tbytes:\t6001 5000 30 40 500 600 7 8");
	reads("Mount/home", "ReadMB=gap 1");
}

TEST(what_is_missing_or_garbage_is_unknown)
{
	static const char *const bad[] = {
		"",
		"device filer1:/export/home mounted on /home with fstype nfs4",
		HOME,
		HOME "\tbytes:\t1 2 3",
		HOME "\tbytes:\tx y z 0 0 0 0 0\\n\tage:",
		HOME "\tbytes:\\n:::\\n\t:\\n READ\\n READ:",
		"device filer1:/export/home mounted on /home with fstype nfs5 statvers=1.1\\n"
		"\tbytes:\t5000 5000 30 40 500 600 7 8",
	};

	machine_on("nfs", &sensor_mounts);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		machine_put(STATS, bad[i]);
		machine_read(-ENODATA);
		expect("Mount/home", "ReadMB=none");
	}
	machine_put(STATS, HOME EVENTS "\t READ: 41 41 0 0 0 0 0 0 0\\n\tbytes: 1");
	reads("Mount/home", "Reads=gap 0, ReadMB=none");
	machine_remove(STATS);
	machine_read(-ENODATA);
}

TEST(numbers_of_lustre)
{
	machine_on("lustre", &sensor_mounts);
	assert_string_equal(channel_of("Mount/scratch", "Reads")->about,
			    "lustre 10.1.0.1@o2ib:10.1.0.2@o2ib:/scratch at /scratch");
	assert_null(channel_of("Mount/scratch", "Resends"));
	sed(LLITE,
	    "s/^read_bytes.*/read_bytes 25680 samples [bytes] 1 3366225 145122000/;"
	    "s/^write_bytes.*/write_bytes 13642 samples [bytes] 1 3366225 468230569 9/;"
	    "s/^open .*/open 903 samples [usecs] 1 2 3 4/;s/^close .*/close 892 samples [regs]/");
	sed(DEBUGFS "osc/scratch-OST0001-osc-ffff8f5b4d8a3000/stats",
	    "s/^req_waittime.*/req_waittime 75 samples [usec] 45 6789 700001 9/;"
	    "s/^read_bytes.*/read_bytes 42 samples [bytes] 1 2 2000100 9/;"
	    "s/^write_bytes.*/write_bytes 42 samples [bytes] 1 2 4000200 9/");
	sed(DEBUGFS "mdc/scratch-MDT0000-mdc-ffff8f5b4d8a3000/stats",
	    "s/^req_waittime.*/req_waittime 510 samples [usec] 45 6789 800000 9/");
	reads("Mount/scratch",
	      "Reads=7, ReadMB=131, Writes=1, WriteMB=100, Opens=3, Closes=2, ServerReadMB=100, "
	      "ServerWriteMB=200, Requests=14, MetaRequests=10, RequestTime=1.0");
}

/* Which of two instances of one file system is mounted where is not told. */
TEST(instances_of_lustre_keep_their_names)
{
	machine_on("lustre", &sensor_mounts);
	assert_non_null(channel_of("Mount/pool-ffff8f5b4d8a3800", "Requests"));
	assert_non_null(channel_of("Mount/pool-ffff8f5b4d8a4000", "Reads"));
	assert_null(channel_of("Mount/pool-ffff8f5b4d8a4000", "Requests"));
	expect("Mount/pool-ffff8f5b4d8a3800", "Closes=0");
}

/* What has not happened has no line; "clear" makes all of it 0. */
TEST(lines_that_lustre_has_not)
{
	machine_on("lustre", &sensor_mounts);
	machine_put(LLITE, SNAP "open 1000 samples [regs]");
	reads("Mount/scratch", "Opens=gap 0, ReadMB=gap 0");
	machine_put(LLITE, SNAP "open 1001 samples [regs]\\nread_bytes 1 samples [bytes] 9 9 9");
	reads("Mount/scratch", "Opens=1, ReadMB=9");
	machine_put(LLITE, "open 1002 samples [regs]");
	reads("Mount/scratch", "Opens=none, Requests=0");
	machine_put(LLITE, SNAP "open x samples [regs]");
	reads("Mount/scratch", "Opens=none");
	machine_remove(DEBUGFS "osc/scratch-OST0000-osc-ffff8f5b4d8a3000");
	reads("Mount/scratch", "Requests=none, MetaRequests=0");
}

TEST(many_targets_are_not_read)
{
	machine_make("lustre");
	shell("cd %s/" DEBUGFS "osc && for i in $(seq 16 143); do "
	      "cp -r scratch-OST0001-osc-ffff8f5b4d8a3000 "
	      "scratch-OST00$i-osc-ffff8f5b4d8a3000; done",
	      m.dir);
	machine_open(&sensor_mounts);
	reads("Mount/scratch", "MetaRequests=0, ReadMB=0");
	assert_null(channel_of("Mount/scratch", "Requests"));
}

TEST(debugfs_is_roots)
{
	machine_make("lustre");
	shell("rm -r %s/proc/fs && chmod 0 %s/kernel/debug", m.dir, m.sys);
	be_nobody(true);
	machine_probe(&sensor_mounts, -EACCES, "run as root");
	be_nobody(false);
	shell("chmod 700 %s/kernel/debug", m.sys);
}

TEST(a_node_without_them)
{
	machine_make("");
	machine_lacks(&sensor_mounts);
}

static void is_named(const char *name, const char *table)
{
	char out[COUNTER_SET_TABLE];

	counter_set__table_name(out, name);
	if (!strchr(table, '*'))
		assert_string_equal(out, table);
	else if (strncmp(out, table, strlen(table) - 1) != 0)
		fail_msg("\"%s\" is \"%s\", not \"%s\"", name, out, table);
	assert_null(strchr(out, '/'));
	assert_in_range(strlen(out), 1, COUNTER_SET_TABLE - 1);
}

TEST(names_are_fit_for_links)
{
	char a[COUNTER_SET_TABLE], b[COUNTER_SET_TABLE];

	is_named("/scratch", "scratch");
	is_named("/mnt/lustre/a", "mnt-lustre-a");
	is_named("mlx5_0-1", "mlx5_0-1");
	is_named("/", "root");
	is_named("", "root");
	is_named("/7", "7~*");
	is_named("/.hidden", "_hidden~*");
	is_named("..", "_.~*");
	is_named("/a b\n\x1b[31m\xff", "a_b__*");
	is_named("/home/a/very/long/name/of/a/directory/indeed", "home-a-very-long-name*");
	counter_set__table_name(a, "/home/a/very/long/name/of/a/directory/1");
	counter_set__table_name(b, "/home/a/very/long/name/of/a/directory/2");
	assert_string_not_equal(a, b);
	counter_set__table_name(a, "/a b");
	counter_set__table_name(b, "/a\tb");
	assert_string_not_equal(a, b);
}

TEST(names_are_unique)
{
	static const char *const names[] = {"/a/b", "/a-b", "a-b", "/a/b", "/a/b", "/a/b"};
	struct counter_set t = {.series = "Mount", .part = PART_MOUNT};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(counter_set__add_device(&t, names[i], NULL), 0);
	assert_string_equal(t.device[0].table, "a-b");
	for (unsigned i = 0; i < t.ndevices; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(t.device[i].table, t.device[k].table);
	counter_set__free(&t);
}

static struct unit_fixture fixture = {.teardown = machine_end};
