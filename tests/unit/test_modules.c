// SPDX-License-Identifier: GPL-2.0-or-later
/* What code is of, by a process's memory map, also of one that does not answer. */

#include "tests/unit/unit.h"
#include "identity/proc.h"
#include "identity/proc_modules.h"
#include "kern/sample/sample.h"

static struct proc_modules m;

static enum jp_module of(const char *path, const char *program)
{
	char line[512];

	m.n = 0;
	snprintf(line, sizeof(line), "7f00-7f80 r-xp 00000000 08:01 12    %s\n", path);
	proc_modules__take(&m, line, program);
	return proc_modules__at(&m, 0x7f42);
}

TEST(kinds_by_their_names)
{
	static const struct {
		const char *path;
		enum jp_module module;
	} files[] = {
		{"/home/u/a.out", JP_MODULE_OWN},
		{"/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4", JP_MODULE_MPI},
		{"/usr/lib/openmpi/lib/openmpi3/mca_btl_vader.so", JP_MODULE_MPI},
		{"/usr/lib/libopen-pal.so.40.30.2", JP_MODULE_MPI},
		{"/opt/ucx/libucp.so.0", JP_MODULE_MPI},
		{"/opt/ucx/libuct_ib.so.0", JP_MODULE_MPI},
		{"/usr/lib/libmpc.so.3", JP_MODULE_LIBRARY},
		{"/usr/lib/libcurl.so.4", JP_MODULE_LIBRARY},
		{"/usr/lib/libcublas.so.12", JP_MODULE_LIBGPU},
		{"/usr/lib/libcblas.so.3", JP_MODULE_BLAS},
		{"/usr/lib/libopenblas-r0.3.so", JP_MODULE_BLAS},
		{"/usr/lib/libgomp.so.1", JP_MODULE_OPENMP},
		{"/usr/lib/libpython3.11.so.1.0", JP_MODULE_INTERPRETER},
		{"/usr/lib/libc.so.6", JP_MODULE_LIBC},
		{"/usr/lib/libc.so.6 (deleted)", JP_MODULE_LIBC},
		{"/usr/lib/libcap.so.2", JP_MODULE_LIBRARY},
		{"/lib64/ld-linux-x86-64.so.2", JP_MODULE_LIBC},
		{"[vdso]", JP_MODULE_LIBC},
		{"/usr/lib/libm.so.6", JP_MODULE_LIBRARY},
		{"", JP_MODULE_GENERATED},
		{"[heap]", JP_MODULE_GENERATED},
		{"/memfd:jit (deleted)", JP_MODULE_GENERATED},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (of(files[i].path, "/home/u/a.out") != files[i].module)
			fail_msg("%s is %d", files[i].path, m.range[0].module);
	assert_int_equal(of("/usr/bin/python3.11", "/usr/bin/python3.11"), JP_MODULE_INTERPRETER);
	assert_int_equal(of("/x/libmpi-test.so", "/x/libmpi-test.so"), JP_MODULE_OWN);
	assert_int_equal(of("/a", ""), JP_MODULE_LIBRARY);
}

TEST(only_code_counts)
{
	char line[9000];

	m.n = 0;
	proc_modules__take(&m, "7f00-7f80 rw-p 0 08:01 12 /a\n", "");
	proc_modules__take(&m, "nonsense\n", "");
	proc_modules__take(&m, "", "");
	assert_int_equal(m.n, 0);
	memset(line, 'x', sizeof(line));
	memcpy(line, "7f00-7f80 r-xp 0 08:01 12 /", 27);
	strcpy(line + sizeof(line) - 2, "\n");
	proc_modules__take(&m, line, "");
	for (int i = 0; i < 2 * MODULE_RANGES; i++) {
		snprintf(line, sizeof(line), "%x-%x r-xp 0 08:01 12 /a\n", 0x10000 * (i + 1),
			 0x10000 * (i + 1) + 16);
		proc_modules__take(&m, line, "/a");
	}
	assert_int_equal(m.n, MODULE_RANGES);
	assert_int_equal(proc_modules__at(&m, 0x7f00 - 1), JP_MODULE_UNKNOWN);
	assert_int_equal(proc_modules__at(&m, 0x50000), JP_MODULE_OWN);
	assert_int_equal(proc_modules__at(&m, 0x50010), JP_MODULE_UNKNOWN);
}

TEST(our_own)
{
	assert_int_equal(proc_modules__read(getpid(), &m), 0);
	assert_int_equal(proc_modules__at(&m, (uint64_t)(uintptr_t)&of), JP_MODULE_OWN);
	assert_int_equal(proc_modules__at(&m, (uint64_t)(uintptr_t)&getppid), JP_MODULE_LIBC);
	assert_int_equal(proc_modules__at(&m, (uint64_t)(uintptr_t)&m), JP_MODULE_UNKNOWN);
	assert_true(proc_modules__read(1 << 30, &m) < 0);
}

/* A memory map that does not come, as one whose lock is kept for ever, and another process's. */
TEST(one_that_hangs)
{
	char hung[64];
	struct maps_reader *r = NULL;
	int fd;

	put_text(unit_dir, "7/maps", "1000-2000 r-xp 0 08:01 12 /x/libmpi.so.40\n");
	assert_int_equal(mkdir(in_dir("8"), 0755), 0);
	strcpy(hung, in_dir("8/maps"));
	assert_int_equal(mkfifo(hung, 0600), 0);
	proc__set_root(unit_dir);
	assert_int_equal(maps_reader__read(&r, 8, &m), -ETIMEDOUT);
	assert_null(r);
	assert_true(maps_reader__hangs());
	assert_int_equal(maps_reader__read(&r, 7, &m), 0);
	assert_int_equal(proc_modules__at(&m, 0x1800), JP_MODULE_MPI);
	assert_int_equal(maps_reader__read(&r, 9, &m), -ENOENT);
	for (int i = 0; i < 40; i++)
		maps_reader__read(&r, 8, &m);
	assert_int_equal(maps_reader__read(&r, 8, &m), -EAGAIN);
	fd = open(hung, O_WRONLY); /* all of them go on, and end */
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 100 && maps_reader__read(&r, 7, &m); i++)
		usleep(20000);
	assert_int_equal(maps_reader__read(&r, 7, &m), 0);
	for (int i = 0; i < 100 && maps_reader__hangs(); i++)
		usleep(20000);
	assert_false(maps_reader__hangs());
	maps_reader__stop(r);
	proc__set_root("/proc");
}
