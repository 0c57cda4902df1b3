// SPDX-License-Identifier: GPL-2.0-or-later
/* How a file is published: live files, names that are taken, links in the way, full disks. */

#include "tests/unit/unit.h"
#include "jobfile/publish.h"
#include "tests/unit/stored.h"

TEST(a_link_in_the_way_is_not_followed)
{
	struct synth s = plain;
	int fd = openat(dir_fd, "victim", O_WRONLY | O_CREAT, 0600);

	s.rows = 1;
	synth_make(journal, &s);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	unlinkat(dir_fd, NAME, 0);
	assert_int_equal(symlinkat("victim", dir_fd, NAME), 0);
	assert_int_equal(build(NAME, NULL), 0);
	assert_int_equal(size_of("victim"), 1);
	assert_true(size_of(NAME) > 1000);
	unlinkat(dir_fd, "victim", 0);
}

static int publish(const struct synth *s, struct kept *kept)
{
	int fd, err;

	synth_make(journal, s);
	fd = open(journal, O_RDONLY);
	err = publish__final(fd, dir_fd, NAME, NULL, kept);
	close(fd);
	return err;
}

TEST(a_live_file_gives_way_to_the_final_one)
{
	struct synth s = plain;
	struct kept kept;
	int fd;

	s.rows = 3;
	unlinkat(dir_fd, NAME, 0);
	synth_make(journal, &s);
	fd = open(journal, O_RDONLY);
	assert_int_equal(publish__live(fd, dir_fd, NAME, NULL), 0);
	assert_int_equal(publish__live(fd, dir_fd, "a/b", NULL), -EINVAL);
	assert_int_equal(publish__live(fd, dir_fd, ".x", NULL), -EINVAL);
	close(fd);
	assert_true(size_of("." NAME) > 0);
	assert_int_equal(size_of(NAME), -1);
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "");
	assert_int_equal(size_of("." NAME), -1);
	assert_int_equal(size_of("." NAME ".tmp"), -1);
	assert_true(size_of(NAME) > 0);
}

TEST(runs_of_earlier_restarts_are_kept)
{
	struct synth s = plain;
	struct kept kept;

	unlinkat(dir_fd, NAME, 0);
	s.rows = 3;
	s.restart = 0;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "");
	/* The same run again, a row later. */
	s.rows = 4;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "");
	s.start_ns++;
	s.restart = 5;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "restart0/" NAME);
	s.start_ns++;
	s.restart = 5;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "restart5/" NAME);
	/* Place 5 is taken now. */
	s.start_ns++;
	s.restart = -1;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "restart1/" NAME);
	s.start_ns++;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "restart2/" NAME);
	/* An earlier run whose file comes late does not take the last one's place. */
	s.start_ns -= 10;
	s.restart = 7;
	assert_int_equal(publish(&s, &kept), 0);
	assert_string_equal(kept.path, "restart7/" NAME);
	assert_int_equal(size_of("." NAME ".tmp"), -1);
}

TEST(what_is_no_profile_is_kept_too)
{
	struct synth s = plain;
	struct kept kept;
	int fd;

	s.rows = 1;
	unlinkat(dir_fd, NAME, 0);
	fd = openat(dir_fd, NAME, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(publish(&s, &kept), 0);
	assert_int_equal(size_of(kept.path), 8);
	/* A link moves as a link. */
	unlinkat(dir_fd, NAME, 0);
	assert_int_equal(symlinkat("/etc/passwd", dir_fd, NAME), 0);
	assert_int_equal(publish(&s, &kept), 0);
	assert_int_equal(size_of(kept.path), 11);
}

TEST(an_unwanted_file_of_a_running_step_is_removed)
{
	struct synth s = plain;
	int fd;

	synth_make(journal, &s);
	fd = open(journal, O_RDONLY);
	assert_int_equal(publish__live(fd, dir_fd, NAME, NULL), 0);
	close(fd);
	close(openat(dir_fd, "." NAME ".tmp", O_WRONLY | O_CREAT, 0600));
	assert_int_equal(publish__remove(dir_fd, NAME), 0);
	assert_int_equal(size_of("." NAME), -1);
	assert_int_equal(size_of("." NAME ".tmp"), -1);
	assert_int_equal(publish__remove(dir_fd, NAME), 0);
	assert_int_equal(publish__remove(dir_fd, "../x"), -EINVAL);
}

/* As ProfileGroup has it; other modes are of directories that users have made as they like. */
TEST(files_of_a_shared_directory_are_for_its_group)
{
	static const struct {
		mode_t dir, mask;
	} cases[] = {{0700, 0}, {0750, 0}, {0755, 0}, {02755, 0}, {02750, 027}, {02770, 027}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fchmod(dir_fd, cases[i].dir), 0);
		assert_int_equal(publish__mask(dir_fd), cases[i].mask);
	}
	fchmod(dir_fd, 0700);
}

TEST(a_full_disk_leaves_nothing_behind)
{
	struct synth s = plain;
	char cmd[200];
	struct kept kept;
	int was = dir_fd, fd, full;

	if (geteuid()) {
		print_message("skip: mounting a small tmpfs needs root\n");
		skip();
	}
	snprintf(cmd, sizeof(cmd),
		 "mkdir %s/m && mount -t tmpfs -o size=16k jptest %s/m 2>/dev/null", unit_dir,
		 unit_dir);
	if (system(cmd)) {
		print_message("skip: cannot mount a tmpfs\n");
		skip();
	}
	full = openat(dir_fd, "m", O_RDONLY | O_DIRECTORY);
	synth_make(journal, &s);
	fd = open(journal, O_RDONLY);
	dir_fd = full;
	assert_int_equal(publish__final(fd, dir_fd, NAME, NULL, &kept), -ENOSPC);
	assert_int_equal(size_of(NAME), -1);
	assert_int_equal(size_of("." NAME ".tmp"), -1);
	dir_fd = was;
	close(fd);
	close(full);
	snprintf(cmd, sizeof(cmd), "umount -l %s/m", unit_dir);
	assert_int_equal(system(cmd), 0);
}

static struct unit_fixture fixture = {.setup_all = make_dir};
