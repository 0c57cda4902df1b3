/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory with a synthetic journal, and the file that is made of it. */
#ifndef JP_TESTS_STORED_H
#define JP_TESTS_STORED_H

#include "hdf5/nodestep.h"
#include "tests/unit/synth.h"

#define NAME "7_0_n1.h5"

/* A close that finds the disk full makes libhdf5 forget its buffer; ours are still checked. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhdf5";
}

static char journal[96];
static int dir_fd;

static int make_dir(void **state)
{
	snprintf(journal, sizeof(journal), "%s/j", unit_dir);
	dir_fd = open(unit_dir, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0;
}

static const struct synth plain = {
	.node = "n1",
	.tasks = 2,
	.rows = 300,
	.start_ns = SYNTH_START_NS,
	.restart = -1,
	.end = true,
};

static int build(const char *name, struct nodestep_stats *st)
{
	int fd = open(journal, O_RDONLY), err;

	assert_true(fd >= 0);
	err = nodestep__build(fd, dir_fd, name, NULL, st);
	close(fd);
	return err;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ? -1 : st.st_size;
}

#endif
