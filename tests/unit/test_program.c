// SPDX-License-Identifier: GPL-2.0-or-later
/* A process's program, libraries and CPUs, hostile names and files included. */
#include "tests/unit/unit.h"
#include <sched.h>
#include <sys/mman.h>

#include "identity/cpulist.h"
#include "identity/proc_program.h"

TEST(libraries_by_their_names)
{
	static const char at[] = "7f00-7f01 r-xp 0000 08:01 12    ";
	static const char *const paths[] = {"/usr/lib/libmpi.so.40.30.5\n",
					    "/usr/lib/libmpi.so.40.30.5\n",
					    "/opt/x/libmpich.so.12 (deleted)\n",
					    "/a b/libcuda.so.1\n",
					    "/x/libm.so.6\n",
					    "/x/libmpi\n",
					    "/x/libcuda\\012.so,libnccl.so\n",
					    "/x/libmpi\x01.so\n"};
	struct proc_libraries l = {};
	char line[256];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(line, sizeof(line), "%s%s", at, paths[i]);
		proc_libraries__take(&l, line);
	}
	proc_libraries__take(&l, "7f00-7f01 rw-p 0000 00:00 0 [heap]\n");
	assert_string_equal(l.mpi, "libmpi.so.40.30.5,libmpich.so.12");
	assert_string_equal(l.gpu, "libcuda.so.1");
}

TEST(more_libraries_than_fit)
{
	struct proc_libraries l = {};
	char line[128];

	for (int i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "0-1 r-xp 0 0:0 1 /l/libmpi%d.so\n", i);
		proc_libraries__take(&l, line);
	}
	assert_true(strlen(l.mpi) > PROGRAM_LIBS - 20 && strlen(l.mpi) < PROGRAM_LIBS);
}

TEST(lists_of_cpus)
{
	uint64_t bits[2] = {0x8000000000000107, 1}, none[1] = {0};
	char text[16];

	assert_int_equal(cpulist__format(bits, 128, text, sizeof(text)), 0);
	assert_string_equal(text, "0-2,8,63-64");
	assert_int_equal(cpulist__format(bits, 128, text, 11), -E2BIG);
	assert_string_equal(text, "");
	assert_int_equal(cpulist__format(none, 64, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

TEST(own_program_and_cpus)
{
	struct proc_program p;
	struct proc_cpus c;
	char self[PROGRAM_PATH] = "";
	cpu_set_t cpus;

	assert_int_equal(proc_program__read(getpid(), &p), 0);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_string_equal(p.path, self);
	assert_int_equal(proc_cpus__read(getpid(), &c), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_int_equal(c.cpus, CPU_COUNT(&cpus));
	assert_int_equal(cpulist__count(c.list), c.cpus);
	assert_true(proc_cpus__read(-1, &c) < 0);
}

/* Every byte of the file's beginning is broken once, and the file is cut everywhere. */
TEST(broken_files_of_programs)
{
	int fd = memfd_create("elf", 0), own = open("/proc/self/exe", O_RDONLY);
	char id[ELF_BUILD_ID], want[ELF_BUILD_ID];
	char head[8192];
	ssize_t n = read(own, head, sizeof(head));
	int has = elf__build_id(own, want);

	assert_true(fd >= 0 && n == sizeof(head));
	for (int i = 0; i < n; i += i < 1024 ? 1 : 61) {
		char was = head[i];

		head[i] = (char)(was ^ 0xff);
		assert_int_equal(pwrite(fd, head, n, 0), n);
		elf__build_id(fd, id);
		assert_true(strlen(id) < ELF_BUILD_ID);
		head[i] = was;
	}
	assert_int_equal(pwrite(fd, head, n, 0), n);
	if (!has && !elf__build_id(fd, id))
		assert_string_equal(id, want);
	for (int len = 0; len < 512; len++) {
		assert_int_equal(ftruncate(fd, len), 0);
		assert_true(elf__build_id(fd, id) < 0);
		assert_string_equal(id, "");
	}
	close(fd);
	close(own);
}
