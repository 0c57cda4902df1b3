// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroup hierarchies: of made nodes (v1, v2, hybrid, containers) and of this one. */
#include "tests/unit/unit.h"

#include "identity/hierarchy.h"

static int discover(struct hierarchy *h, const char *mountinfo)
{
	put_text(unit_dir, "mountinfo", mountinfo);
	put_text(unit_dir, "cgroups",
		 "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\n"
		 "cpu\t2\t1\t1\ncpuacct\t2\t1\t1\nmemory\t4\t11\t1\ndevices\t5\t1\t1\n"
		 "freezer\t6\t1\t1\nnet_cls\t0\t1\t1\n");
	put_text(unit_dir, "self", "9:name=systemd:/a:b\n6:freezer:/\n0::/\n");
	return hierarchy__discover_from(h, HIERARCHY_MAX, in_dir("mountinfo"), in_dir("cgroups"),
					in_dir("self"));
}

static const char hybrid[] =
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "
	"rw,cpu,cpuacct\n"
	"34 31 0:31 / /sys/fs/cgroup/cpuset rw shared:1 master:2 - cgroup cgroup "
	"rw,cpuset,clone_children\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	"36 31 0:33 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
	"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(hybrid_node)
{
	struct hierarchy h[HIERARCHY_MAX];
	unsigned c[4];

	assert_int_equal(discover(h, hybrid), 6);
	assert_string_equal(h[0].controllers, "cpu,cpuacct");
	assert_int_equal(h[0].id, 2);
	assert_string_equal(h[0].mount, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(h[0].root, "/");
	assert_string_equal(h[1].controllers, "cpuset");
	assert_int_equal(h[2].id, 4);
	assert_string_equal(h[4].controllers, "name=systemd");
	assert_int_equal(h[4].id, 9);
	assert_true(h[5].v2);
	assert_int_equal(h[5].id, 0);
	assert_string_equal(h[5].controllers, "");
	assert_int_equal(hierarchy__carriers(h, 6, c, 4), 2);
	assert_int_equal(c[0], 5);
	assert_int_equal(c[1], 3); /* freezer */
	assert_int_equal(hierarchy__carriers(h, 6, c, 1), 1);
	assert_int_equal(hierarchy__carriers(h, 6, c, 0), 0);
}

TEST(v2_only_node)
{
	struct hierarchy h[HIERARCHY_MAX];
	unsigned c[4];

	assert_int_equal(discover(h, "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), 1);
	assert_true(h[0].v2);
	assert_int_equal(hierarchy__carriers(h, 1, c, 4), 1);
}

TEST(v1_prefers_in_order)
{
	struct hierarchy h[HIERARCHY_MAX];
	unsigned c[4];

	assert_int_equal(discover(h, "1 2 0:1 / /c/cpuacct rw - cgroup c rw,cpuacct,cpu\n"
				     "1 2 0:2 / /c/devices rw - cgroup c rw,devices\n"
				     "1 2 0:3 / /c/memory rw - cgroup c rw,memory\n"),
			 3);
	assert_int_equal(hierarchy__carriers(h, 3, c, 4), 1);
	assert_int_equal(c[0], 2);
	assert_int_equal(hierarchy__carriers(h, 2, c, 4), 1);
	assert_int_equal(c[0], 1);
	assert_int_equal(hierarchy__carriers(h, 1, c, 4), 1);
	assert_int_equal(c[0], 0);
	assert_int_equal(discover(h, "1 2 0:1 / /c/systemd rw - cgroup c rw,name=systemd\n"), 1);
	assert_int_equal(hierarchy__carriers(h, 1, c, 4), 0);
}

TEST(an_existing_slurm_tree_decides)
{
	struct hierarchy h[2] = {{.id = 6, .controllers = "freezer"},
				 {.id = 4, .controllers = "memory"}};
	unsigned c[4];

	snprintf(h[0].mount, sizeof(h[0].mount), "%s", in_dir("freezer"));
	snprintf(h[1].mount, sizeof(h[1].mount), "%s", in_dir("memory"));
	mkdir(h[0].mount, 0755);
	mkdir(h[1].mount, 0755);
	assert_int_equal(hierarchy__carriers(h, 2, c, 4), 1);
	assert_int_equal(c[0], 0);
	put_text(unit_dir, "freezer/slurm_file", "not a directory");
	mkdir(in_dir("memory/slurm_n1"), 0755);
	assert_int_equal(hierarchy__carriers(h, 2, c, 4), 1);
	assert_int_equal(c[0], 1);
	mkdir(in_dir("freezer/slurm"), 0755);
	assert_int_equal(hierarchy__carriers(h, 2, c, 4), 1);
	assert_int_equal(c[0], 0);
}

TEST(one_mount_of_each_hierarchy)
{
	struct hierarchy h[HIERARCHY_MAX];

	assert_int_equal(discover(h, "1 2 0:1 /docker/x /in/container rw - cgroup c rw,freezer\n"
				     "1 2 0:1 / /sys/fs/cgroup/freezer rw - cgroup c rw,freezer\n"
				     "1 2 0:1 /a /third rw - cgroup c rw,freezer\n"),
			 1);
	assert_string_equal(h[0].mount, "/sys/fs/cgroup/freezer");
	assert_string_equal(h[0].root, "/");
}

TEST(paths_are_unescaped)
{
	struct hierarchy h[HIERARCHY_MAX];

	assert_int_equal(discover(h, "1 2 0:1 / /a\\040b\\134c rw - cgroup2 c rw\n"), 1);
	assert_string_equal(h[0].mount, "/a b\\c");
}

TEST(odd_lines_are_passed_over)
{
	struct hierarchy h[HIERARCHY_MAX];
	char line[2048];

	assert_int_equal(discover(h, ""), 0);
	assert_int_equal(discover(h, "\n - \n - cgroup\n1 2 - cgroup c rw,freezer\n"
				     "1 2 0:1 / /m rw cgroup c rw,freezer\n"
				     "1 2 0:1 / /m rw - cgroup c rw,net_cls\n"
				     "1 2 0:1 / /m rw - cgroup c rw,nosuch\n"
				     "1 2 0:1 / /m rw - cgroup c rw,name=other\n"
				     "1 2 0:1 / /m rw - tmpfs cgroup2 rw,freezer\n"),
			 0);
	snprintf(line, sizeof(line), "1 2 0:1 / /%01000d rw - cgroup2 c rw\n", 0);
	assert_int_equal(discover(h, line), 0);
	assert_int_equal(hierarchy__discover_from(h, HIERARCHY_MAX, in_dir("absent"), "x", "y"),
			 -ENOENT);
	discover(h, hybrid);
	assert_int_equal(hierarchy__discover_from(h, 2, in_dir("mountinfo"), in_dir("cgroups"),
						  in_dir("self")),
			 2);
}

/* The kernel of this machine, and its own mounts. */
TEST(this_machine)
{
	struct hierarchy h[HIERARCHY_MAX];
	int n = hierarchy__discover(h, HIERARCHY_MAX);

	if (n <= 0) {
		print_message("SKIP: no cgroup file system is mounted here\n");
		skip();
	}
	for (int i = 0; i < n; i++) {
		struct stat st;

		assert_true(h[i].v2 == (h[i].id == 0));
		assert_int_equal(stat(h[i].mount, &st), 0);
	}
}
