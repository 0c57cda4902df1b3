// SPDX-License-Identifier: GPL-2.0-only
/* Mounts of NFS and Lustre, on made-up machines, and the names of tables. */

#include "tests/unit/unit.h"
#include "sensor/sensors.h"
#include "sensor/core/counter_set.h"
#include "sensors.h"
#include "opened.h"

#define STATS	"proc/self/mountstats"
#define HOME	"device filer1:/export/home mounted on /home with fstype nfs4 statvers=1.1\\n"
#define EVENTS	"\tevents:\t0 0 0 0 30 0 0 0 0 0 0 0 0 0 0 0 0 29 0 0 0 0 0 0 0 0 0 \\n"
#define LLITE	"proc/fs/lustre/llite/scratch-ffff8f5b4d8a3000/stats"
#define DEBUGFS "sys/kernel/debug/lustre/"
#define SNAP	"snapshot_time 1.5 secs.nsecs\\n"

static void sed(struct opened *o, const char *path, const char *script)
{
	char cmd[512];

	/* The file stays the same one: the source has it open. */
	snprintf(cmd, sizeof(cmd), "cd %s && sed '%s' %s > new && cat new > %s && rm new", o->m.dir,
		 script, path, path);
	assert_int_equal(system(cmd), 0);
}

TEST(each_file_system_once)
{
	struct opened o;
	const struct sensor_channel *c;

	set_up(&o, &sensor_mounts, "nfs");
	assert_int_equal(o.n, 3 * 12);
	c = channel_of(&o, "Mount/home", "ReadMB");
	assert_non_null(c);
	assert_int_equal(c->part, PART_MOUNT);
	assert_string_equal(c->unit, "B");
	assert_string_equal(c->about, "nfs4 filer1:/export/home at /home");
	assert_non_null(channel_of(&o, "Mount/opt-apps", "ReadMB"));
	c = channel_of(&o, "Mount/data-my_set~6fc1d259", "ReadMB");
	assert_non_null(c);
	assert_string_equal(c->about, "nfs4 filer2:/data/my set at /data/my set");
	close_it(&o);
}

TEST(numbers_of_nfs_4)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "nfs");
	sed(&o, STATS,
	    "/mounted on \\/home /,/^$/{"
	    "s/bytes:.*/bytes:\\t1100 2010 31 42 505 606 7 8 /;"
	    "s/ READ:.*/ READ: 43 43 0 1 1 0 425 500 0/;"
	    "s/ WRITE:.*/ WRITE: 54 59 0 1 1 0 900 901 0/;"
	    "s/ OPEN:.*/ OPEN: 22 22 0 1 1 0 40 60 0/;"
	    "s/ OPEN_NOATTR:.*/ OPEN_NOATTR: 6 6 0 1 1 0 10 15 0/;"
	    "s/ CLOSE:.*/ CLOSE: 26 26 0 1 1 0 48 72 0/}");
	read_it(&o);
	expect(&o, "Mount/home", "Reads", READING_GOOD, 3);
	expect(&o, "Mount/home", "ReadMB", READING_GOOD, 101);
	expect(&o, "Mount/home", "Writes", READING_GOOD, 4);
	expect(&o, "Mount/home", "WriteMB", READING_GOOD, 12);
	expect(&o, "Mount/home", "Opens", READING_GOOD, 3);
	expect(&o, "Mount/home", "Closes", READING_GOOD, 2);
	expect(&o, "Mount/home", "ServerReadMB", READING_GOOD, 5);
	expect(&o, "Mount/home", "ServerWriteMB", READING_GOOD, 6);
	expect(&o, "Mount/home", "Requests", READING_GOOD, 12);
	expect(&o, "Mount/home", "MetaRequests", READING_GOOD, 5);
	expect(&o, "Mount/home", "RequestTime", READING_GOOD, 0.025);
	expect(&o, "Mount/home", "Resends", READING_GOOD, 3);
	expect(&o, "Mount/opt-apps", "Reads", READING_GOOD, 0);
	close_it(&o);
}

/* NFS 3 knows no opens: the client does. */
TEST(opens_of_nfs_3)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "nfs");
	sed(&o, STATS, "s/\\(events:\\t51 1200 3 9\\) 70 \\(.*\\) 65 0 1 4/\\1 75 \\2 66 0 1 4/");
	read_it(&o);
	expect(&o, "Mount/opt-apps", "Opens", READING_GOOD, 5);
	expect(&o, "Mount/opt-apps", "Closes", READING_GOOD, 1);
	expect(&o, "Mount/home", "Opens", READING_GOOD, 0);
	close_it(&o);
}

TEST(a_mount_that_goes_and_comes_back)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "nfs");
	sed(&o, STATS, "/mounted on \\/home /,/^$/d");
	read_it(&o);
	expect(&o, "Mount/home", "ReadMB", READING_NONE, NAN);
	expect(&o, "Mount/opt-apps", "ReadMB", READING_GOOD, 0);
	/* With a younger mount on its place, that has read more already. */
	machine_put(&o.m, STATS, HOME "\tage:\t5\\n\tbytes:\t5000 5000 30 40 500 600 7 8");
	read_it(&o);
	expect(&o, "Mount/home", "ReadMB", READING_GAP, 0);
	machine_put(&o.m, STATS, HOME "\tage:\t6\\n\tbytes:\t5001 5000 30 40 500 600 7 8");
	read_it(&o);
	expect(&o, "Mount/home", "ReadMB", READING_GOOD, 1);
	machine_put(&o.m, STATS, HOME "\tage:\t1\\n\tbytes:\t6001 5000 30 40 500 600 7 8");
	read_it(&o);
	expect(&o, "Mount/home", "ReadMB", READING_GAP, 1);
	close_it(&o);
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
	struct opened o;

	set_up(&o, &sensor_mounts, "nfs");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		machine_put(&o.m, STATS, bad[i]);
		assert_int_equal(o.ops->read(o.s, o.v), -ENODATA);
		expect(&o, "Mount/home", "ReadMB", READING_NONE, NAN);
	}
	machine_put(&o.m, STATS, HOME EVENTS "\t READ: 41 41 0 0 0 0 0 0 0\\n\tbytes: 1");
	read_it(&o);
	expect(&o, "Mount/home", "Reads", READING_GAP, 0);
	expect(&o, "Mount/home", "ReadMB", READING_NONE, NAN);
	machine_remove(&o.m, STATS);
	assert_int_equal(o.ops->read(o.s, o.v), -ENODATA);
	close_it(&o);
}

TEST(numbers_of_lustre)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "lustre");
	assert_string_equal(channel_of(&o, "Mount/scratch", "Reads")->about,
			    "lustre 10.1.0.1@o2ib:10.1.0.2@o2ib:/scratch at /scratch");
	assert_null(channel_of(&o, "Mount/scratch", "Resends"));
	sed(&o, LLITE,
	    "s/^read_bytes.*/read_bytes 25680 samples [bytes] 1 3366225 145122000/;"
	    "s/^write_bytes.*/write_bytes 13642 samples [bytes] 1 3366225 468230569 9/;"
	    "s/^open .*/open 903 samples [usecs] 1 2 3 4/;s/^close .*/close 892 samples [regs]/");
	sed(&o, DEBUGFS "osc/scratch-OST0001-osc-ffff8f5b4d8a3000/stats",
	    "s/^req_waittime.*/req_waittime 75 samples [usec] 45 6789 700001 9/;"
	    "s/^read_bytes.*/read_bytes 42 samples [bytes] 1 2 2000100 9/;"
	    "s/^write_bytes.*/write_bytes 42 samples [bytes] 1 2 4000200 9/");
	sed(&o, DEBUGFS "mdc/scratch-MDT0000-mdc-ffff8f5b4d8a3000/stats",
	    "s/^req_waittime.*/req_waittime 510 samples [usec] 45 6789 800000 9/");
	read_it(&o);
	expect(&o, "Mount/scratch", "Reads", READING_GOOD, 7);
	expect(&o, "Mount/scratch", "ReadMB", READING_GOOD, 131);
	expect(&o, "Mount/scratch", "Writes", READING_GOOD, 1);
	expect(&o, "Mount/scratch", "WriteMB", READING_GOOD, 100);
	expect(&o, "Mount/scratch", "Opens", READING_GOOD, 3);
	expect(&o, "Mount/scratch", "Closes", READING_GOOD, 2);
	expect(&o, "Mount/scratch", "ServerReadMB", READING_GOOD, 100);
	expect(&o, "Mount/scratch", "ServerWriteMB", READING_GOOD, 200);
	expect(&o, "Mount/scratch", "Requests", READING_GOOD, 14);
	expect(&o, "Mount/scratch", "MetaRequests", READING_GOOD, 10);
	expect(&o, "Mount/scratch", "RequestTime", READING_GOOD, 1.0);
	close_it(&o);
}

/* Which of two instances of one file system is mounted where is not told. */
TEST(instances_of_lustre_keep_their_names)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "lustre");
	assert_non_null(channel_of(&o, "Mount/pool-ffff8f5b4d8a3800", "Requests"));
	assert_non_null(channel_of(&o, "Mount/pool-ffff8f5b4d8a4000", "Reads"));
	assert_null(channel_of(&o, "Mount/pool-ffff8f5b4d8a4000", "Requests"));
	expect(&o, "Mount/pool-ffff8f5b4d8a3800", "Closes", READING_GOOD, 0);
	close_it(&o);
}

/* What has not happened has no line; "clear" makes all of it 0. */
TEST(lines_that_lustre_has_not)
{
	struct opened o;

	set_up(&o, &sensor_mounts, "lustre");
	machine_put(&o.m, LLITE, SNAP "open 1000 samples [regs]");
	read_it(&o);
	expect(&o, "Mount/scratch", "Opens", READING_GAP, 0);
	expect(&o, "Mount/scratch", "ReadMB", READING_GAP, 0);
	machine_put(&o.m, LLITE,
		    SNAP "open 1001 samples [regs]\\nread_bytes 1 samples [bytes] 9 9 9");
	read_it(&o);
	expect(&o, "Mount/scratch", "Opens", READING_GOOD, 1);
	expect(&o, "Mount/scratch", "ReadMB", READING_GOOD, 9);
	machine_put(&o.m, LLITE, "open 1002 samples [regs]");
	read_it(&o);
	expect(&o, "Mount/scratch", "Opens", READING_NONE, NAN);
	expect(&o, "Mount/scratch", "Requests", READING_GOOD, 0);
	machine_put(&o.m, LLITE, SNAP "open x samples [regs]");
	read_it(&o);
	expect(&o, "Mount/scratch", "Opens", READING_NONE, NAN);
	machine_remove(&o.m, DEBUGFS "osc/scratch-OST0000-osc-ffff8f5b4d8a3000");
	read_it(&o);
	expect(&o, "Mount/scratch", "Requests", READING_NONE, NAN);
	expect(&o, "Mount/scratch", "MetaRequests", READING_GOOD, 0);
	close_it(&o);
}

TEST(many_targets_are_not_read)
{
	struct opened o;
	struct machine m;
	char cmd[512];

	machine_copy(&m, "lustre");
	snprintf(cmd, sizeof(cmd),
		 "cd %s/" DEBUGFS "osc && for i in $(seq 16 143); do "
		 "cp -r scratch-OST0001-osc-ffff8f5b4d8a3000 "
		 "scratch-OST00$i-osc-ffff8f5b4d8a3000; done",
		 m.dir);
	assert_int_equal(system(cmd), 0);
	o = (struct opened){.m = m, .ops = &sensor_mounts};
	assert_int_equal(sensor__open(o.ops, &o.s, &m.roots), 0);
	o.n = o.ops->channels(o.s, &o.c);
	read_it(&o);
	assert_null(channel_of(&o, "Mount/scratch", "Requests"));
	expect(&o, "Mount/scratch", "MetaRequests", READING_GOOD, 0);
	expect(&o, "Mount/scratch", "ReadMB", READING_GOOD, 0);
	close_it(&o);
}

TEST(debugfs_is_roots)
{
	struct opened o = {.ops = &sensor_mounts};
	char cmd[256], why[256];
	int err;

	machine_copy(&o.m, "lustre");
	snprintf(cmd, sizeof(cmd), "rm -r %s/proc/fs && chmod 0 %s/kernel/debug", o.m.dir, o.m.sys);
	assert_int_equal(system(cmd), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	err = sensor__probe(o.ops, &o.m.roots, why, sizeof(why));
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, -EACCES);
	assert_non_null(strstr(why, "run as root"));
	snprintf(cmd, sizeof(cmd), "chmod 700 %s/kernel/debug", o.m.sys);
	assert_int_equal(system(cmd), 0);
	close_it(&o);
}

TEST(a_node_without_them)
{
	struct sensor_roots roots = {.sys = "/nonexistent", .proc = "/nonexistent"};
	struct sensor *s = NULL;
	char why[128];

	assert_int_equal(sensor__probe(&sensor_mounts, &roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor__open(&sensor_mounts, &s, &roots), -ENOENT);
	sensor__close(&sensor_mounts, NULL);
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
