// SPDX-License-Identifier: GPL-2.0-or-later
/* The version of a plugin: files that are none, or are cut short, are refused. */

#include "tests/unit/unit.h"
#include "daemon/config/slurm_conf.h"

#define SELF "/proc/self/exe"

TEST(of_no_plugin)
{
	uint32_t v;

	assert_int_equal(slurm_release__version_of("/nowhere/p.so", &v), -ENOENT);
	assert_int_equal(slurm_release__version_of("/dev/null", &v), -ENOEXEC);
	assert_int_equal(slurm_release__version_of(unit_dir, &v), -ENOEXEC);
	assert_int_equal(slurm_release__version_of(SELF, &v), -ENOEXEC);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(slurm_release__version_of(in_dir("fifo"), &v), -ENOEXEC);
}

TEST(of_one_cut_short)
{
	static char image[65536];
	int in = open(SELF, O_RDONLY), out = open(in_dir("cut"), O_RDWR | O_CREAT, 0600);
	uint32_t v;

	assert_int_equal(read(in, image, sizeof(image)), sizeof(image));
	for (size_t n = 0; n < sizeof(image); n += n < 256 ? 1 : 997) {
		assert_int_equal(ftruncate(out, 0), 0);
		assert_int_equal(pwrite(out, image, n, 0), n);
		assert_int_equal(slurm_release__version_of(in_dir("cut"), &v), -ENOEXEC);
	}
	close(in);
	close(out);
}
