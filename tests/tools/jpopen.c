/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and closes files in every way there is, with failures between. */
#include "tests/tools/tool.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

static const char help[] =
	"COUNT\n"
	"COUNT rounds of open, openat, openat2 and creat, each closed again, and\n"
	"of one failure each; in a child as well. What succeeded goes to stdout.";

static unsigned long opened, closed;

static void end_one(long fd)
{
	if (fd < 0)
		return;
	opened++;
	if (!close((int)fd))
		closed++;
}

static void open_all(const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

#ifdef SYS_open
	end_one(syscall(SYS_open, path, O_RDONLY | O_CLOEXEC));
#endif
#ifdef SYS_creat
	end_one(syscall(SYS_creat, path, 0600));
#endif
	end_one(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	end_one(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/jpopen.XXXXXX";
	unsigned long i, count;
	pid_t child;

	option_out(argc, argv, help);
	if (argc - optind != 1)
		usage(help, false);
	count = to_ulong(argv[optind]);
	end_one(mkstemp(path));
	child = fork();
	for (i = 0; i < count; i++) {
		open_all(path);
		open_all("/nonexistent/file");
		if (!close(-1))
			closed++;
	}
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	unlink(path);
	printf("opens=%lu\ncloses=%lu\n", 2 * opened - 1, 2 * closed - 1);
	return 0;
}
