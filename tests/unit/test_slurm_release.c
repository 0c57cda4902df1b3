// SPDX-License-Identifier: GPL-2.0-only
/* The version of a plugin: files that are none, or are cut short, are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "daemon/config/slurm_conf.h"

#define SELF "/proc/self/exe"

static char dir[] = "/tmp/jp-slurm-release-XXXXXX";

TEST(of_no_plugin)
{
	uint32_t v;

	assert_int_equal(slurm_release__version_of("/nowhere/p.so", &v), -ENOENT);
	assert_int_equal(slurm_release__version_of("/dev/null", &v), -ENOEXEC);
	assert_int_equal(slurm_release__version_of(dir, &v), -ENOEXEC);
	assert_int_equal(slurm_release__version_of(SELF, &v), -ENOEXEC);
	assert_int_equal(mkfifoat(AT_FDCWD, "fifo", 0600), 0);
	assert_int_equal(slurm_release__version_of("fifo", &v), -ENOEXEC);
}

TEST(of_one_cut_short)
{
	static char image[65536];
	int in = open(SELF, O_RDONLY), out = open("cut", O_RDWR | O_CREAT, 0600);
	uint32_t v;

	assert_int_equal(read(in, image, sizeof(image)), sizeof(image));
	for (size_t n = 0; n < sizeof(image); n += n < 256 ? 1 : 997) {
		assert_int_equal(ftruncate(out, 0), 0);
		assert_int_equal(pwrite(out, image, n, 0), n);
		assert_int_equal(slurm_release__version_of("cut", &v), -ENOEXEC);
	}
	close(in);
	close(out);
}

static int make_dir(void **state)
{
	return !mkdtemp(dir) || chdir(dir);
}

static int remove_dir(void **state)
{
	unlink("fifo");
	unlink("cut");
	return rmdir(dir);
}

int main(void)
{
	return run_all_tests(.setup_all = make_dir, .teardown_all = remove_dir);
}
