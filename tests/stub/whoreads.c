// SPDX-License-Identifier: GPL-2.0-or-later
/* Preloaded: a process that begins to parse an HDF5 or ELF file says who it is and what it may do,
 * a line on stderr, in the place of what a file could make it do. */
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libelf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The lines of /proc/self/status that begin with the name, without their tabs. */
static void put_status(char *to, size_t size, const char *name)
{
	char text[4096] = "", *at;
	int fd = open("/proc/self/status", O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && (at = strstr(text, name)))
		snprintf(to, size, "%.*s", (int)strcspn(at + strlen(name) + 1, "\t\n"),
			 at + strlen(name) + 1);
	close(fd);
}

static int may_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0;
}

/* Letters of what it may: write, fork, kill, connect; o: its real id is its effective one, so that
 * this user may end it. */
static void put_rights(char *to)
{
	int fd = open(getenv("WHOREADS_WRITES"), O_RDWR);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	char uids[32] = "";

	if (fd >= 0)
		*to++ = 'w';
	if (may_fork())
		*to++ = 'f';
	if (!kill(getppid(), 0))
		*to++ = 'k';
	if (sock >= 0)
		*to++ = 'c';
	put_status(uids, sizeof(uids), "\nUid:");
	if ((uid_t)strtoul(uids, NULL, 10) == geteuid())
		*to++ = 'o';
	*to = 0;
	close(fd);
	close(sock);
}

static void say(const char *path)
{
	char uid[32] = "?", gid[32] = "?", groups[64] = "?", caps[32] = "?", nnp[32] = "?",
	     seccomp[32] = "?", rights[8], line[4096];
	int n;

	snprintf(uid, sizeof(uid), "%u", geteuid());
	put_status(gid, sizeof(gid), "\nGid:");
	put_status(groups, sizeof(groups), "\nGroups:");
	put_status(caps, sizeof(caps), "\nCapPrm:");
	put_status(nnp, sizeof(nnp), "\nNoNewPrivs:");
	put_status(seccomp, sizeof(seccomp), "\nSeccomp:");
	put_rights(rights);
	n = snprintf(line, sizeof(line),
		     "reads: %s uid=%s gid=%s groups=%s caps=%s nnp=%s seccomp=%s "
		     "may=%s\n",
		     path, uid, gid, groups, caps, nnp, seccomp, rights);
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(9);
}

static void say_of(int fd, const char *kind)
{
	char link[64], path[2048];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	say(n < 0 ? kind : path);
}

/* The HDF5 library may be part of the program, but not how it reads. The signature alone is no
 * parsing. */
#define SIGNATURE 8

static bool is_new(int fd)
{
	static ino_t known[64];
	struct stat st;

	if (fstat(fd, &st))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i] == st.st_ino)
			return false;
		if (!known[i]) {
			known[i] = st.st_ino;
			return true;
		}
	}
	return true;
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");

	if (n > SIGNATURE && is_new(fd))
		say_of(fd, "a file");
	return real(fd, to, n, at);
}

Elf *elf_begin(int fd, Elf_Cmd cmd, Elf *ref)
{
	Elf *(*real)(int, Elf_Cmd, Elf *) = dlsym(RTLD_NEXT, "elf_begin");

	say_of(fd, "an ELF file");
	return real(fd, cmd, ref);
}
