// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that others wrote are opened for a process that may not open them. */
#include "tests/unit/unit.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/foreign.h"

#define SIGNATURE "\x89HDF\r\n\x1a\n"

static int dir_fd;
static pid_t opener;

static void put(const char *name, size_t skip, const char *bytes)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, strlen(bytes), (off_t)skip), strlen(bytes));
	close(fd);
}

static int set_up(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int ends[2];

	if ((dir_fd = open(unit_dir, O_RDONLY | O_DIRECTORY)) < 0)
		return -1;
	put("a.h5", 0, SIGNATURE "rest");
	put("late.h5", 2048, SIGNATURE "rest");
	put("odd.h5", 700, SIGNATURE "rest");
	put("program", 0,
	    "\x7f"
	    "ELF and the rest");
	put("shadow", 0, "root:secret");
	put("empty", 0, "");
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", unit_dir);
	if (bind(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&name,
		 sizeof(name)))
		return -1;
	if (symlink("a.h5", in_dir("link")) || mkfifo(in_dir("fifo"), 0600) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	opener = fork();
	if (!opener) {
		close(ends[0]);
		foreign__serve(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	foreign__ask(ends[0]);
	return 0;
}

static int tear_down(void **state)
{
	kill(opener, SIGKILL);
	waitpid(opener, NULL, 0);
	return 0;
}

/* Returns the error, or closes the file. */
static int got(int fd)
{
	if (fd < 0)
		return fd;
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return 0;
}

static int asked(const char *name)
{
	return got(foreign__open(AT_FDCWD, in_dir(name), 0));
}

TEST(hdf5_and_elf_files_are_opened)
{
	char bytes[5] = "";
	int fd = foreign__open(AT_FDCWD, in_dir("a.h5"), 0);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, 4, 8), 4);
	assert_string_equal(bytes, "rest");
	assert_int_equal(got(fd), 0);
	assert_int_equal(asked("late.h5"), 0);
	assert_int_equal(asked("program"), 0);
	assert_int_equal(asked("link"), 0);
	assert_int_equal(got(foreign__open(dir_fd, "a.h5", 0)), 0);
}

TEST(nothing_else_is_opened)
{
	assert_int_equal(asked("shadow"), -ENOEXEC);
	assert_int_equal(asked("odd.h5"), -ENOEXEC);
	assert_int_equal(asked("empty"), -ENOEXEC);
	assert_int_equal(asked("fifo"), -EBADMSG);
	assert_int_equal(asked("socket"), -EBADMSG); /* open(2) itself would say ENXIO */
	assert_int_equal(asked(""), -EISDIR);
	assert_int_equal(asked("none"), -ENOENT);
	assert_int_equal(got(foreign__open(dir_fd, "link", O_NOFOLLOW)), -ELOOP);
	assert_int_equal(got(foreign__open(dir_fd, "a.h5", O_RDWR | O_TRUNC)), 0);
	assert_int_equal(asked("a.h5"), 0); /* it was not cut */
}

/* The opener is asked about a file as large as a file can be, with nothing in it. */
TEST(the_largest_file_is_looked_at_once)
{
	const struct rlimit cpu = {.rlim_cur = 5, .rlim_max = 5};
	int fd = memfd_create("largest", MFD_CLOEXEC);
	char path[64];

	assert_int_equal(prlimit(opener, RLIMIT_CPU, &cpu, NULL),
			 0); /* it ends, and does not hang */
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, INT64_MAX), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	assert_int_equal(got(foreign__open(AT_FDCWD, path, 0)), -ENOEXEC);
	close(fd);
}

TEST(a_path_that_fits_no_message_is_an_error)
{
	char path[8192];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(foreign__open(AT_FDCWD, path, 0), -ENAMETOOLONG);
}

static unsigned confined;

static int confine(int fd)
{
	confined++;
	return fcntl(fd, F_GETFD) < 0 ? -EBADF : 0;
}

static int refuse(int fd)
{
	return -EACCES;
}

TEST(the_first_file_confines_once)
{
	foreign__confine_with(confine);
	assert_int_equal(asked("none"), -ENOENT);
	assert_int_equal(confined, 0);
	assert_int_equal(asked("a.h5"), 0);
	assert_int_equal(asked("a.h5"), 0);
	assert_int_equal(confined, 1);
	foreign__confine_with(refuse);
	assert_int_equal(asked("a.h5"), -EACCES);
	assert_int_equal(asked("a.h5"), 0);
}

TEST(own_files_need_no_right)
{
	char path[64];
	int own = open(in_dir("shadow"), O_RDONLY), fd;
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", own);
	fd = foreign__open(AT_FDCWD, path, 0);
	assert_true(fd >= 0 && fd != own && !fstat(own, &a) && !fstat(fd, &b));
	assert_true(a.st_ino == b.st_ino);
	close(fd);
	close(own);
	assert_int_equal(foreign__open(AT_FDCWD, path, 0), -EBADF);
}

TEST(only_files_of_those_who_were_given)
{
	const uid_t others = getuid() + 1;
	int fd;

	foreign__ask(-1); /* by this process itself, which knows who was given */
	assert_int_equal(foreign__only_of(others), 0);
	assert_int_equal(asked("a.h5"), -EACCES);
	assert_int_equal(asked("link"), -EACCES);
	assert_int_equal(got(foreign__open(AT_FDCWD, "/etc/passwd", 0)), 0); /* root's, for all */
	assert_int_equal(foreign__only_of(getuid()), 0);
	assert_int_equal(asked("a.h5"), 0);
	for (int i = 0; i < 100; i++) /* it is the same one */
		assert_int_equal(foreign__only_of(others), 0);
	foreign__of_all();
	for (uid_t i = 0; i < 16; i++)
		assert_int_equal(foreign__only_of(getuid() + 1 + i), 0);
	assert_int_equal(foreign__only_of(getuid()), -ENOSPC);
	assert_int_equal(asked("a.h5"), -EACCES);
	fd = open(in_dir("a.h5"), O_RDONLY | O_CLOEXEC); /* this one, by any name */
	assert_int_equal(foreign__only_this(fd), 0);
	close(fd);
	assert_int_equal(asked("a.h5"), 0);
	assert_int_equal(asked("link"), 0);
	foreign__of_all();
	assert_int_equal(asked("a.h5"), 0);
}

static struct unit_fixture fixture = {.setup_all = set_up, .teardown_all = tear_down};
