// SPDX-License-Identifier: GPL-2.0-only
/* The version of a plugin: files that are none, or are cut short, are refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/site_slurm.h"

#define SELF "/proc/self/exe"

static char dir[] = "/tmp/jp-site-slurm-XXXXXX";

static void of_no_plugin(void **state)
{
	uint32_t v;

	assert_int_equal(site_slurm__version_of("/nowhere/p.so", &v), -ENOENT);
	assert_int_equal(site_slurm__version_of("/dev/null", &v), -ENOEXEC);
	assert_int_equal(site_slurm__version_of(dir, &v), -ENOEXEC);
	assert_int_equal(site_slurm__version_of(SELF, &v), -ENOEXEC);
	assert_int_equal(mkfifoat(AT_FDCWD, "fifo", 0600), 0);
	assert_int_equal(site_slurm__version_of("fifo", &v), -ENOEXEC);
}

static void of_one_cut_short(void **state)
{
	static char image[65536];
	int in = open(SELF, O_RDONLY), out = open("cut", O_RDWR | O_CREAT, 0600);
	uint32_t v;

	assert_int_equal(read(in, image, sizeof(image)), sizeof(image));
	for (size_t n = 0; n < sizeof(image); n += n < 256 ? 1 : 997) {
		assert_int_equal(ftruncate(out, 0), 0);
		assert_int_equal(pwrite(out, image, n, 0), n);
		assert_int_equal(site_slurm__version_of("cut", &v), -ENOEXEC);
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_no_plugin),
		cmocka_unit_test(of_one_cut_short),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
