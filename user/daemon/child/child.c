// SPDX-License-Identifier: GPL-2.0-only
/* How a child of jobprofd begins: signals, files, ids and rights. */
#include "daemon/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/str.h"

/* A protection of jobprofd from the OOM killer is for jobprofd alone. A value that jobprof run was
 * started with stays. */
static void give_up_oom_protection(void)
{
	static const char file[] = "/proc/self/oom_score_adj";
	char text[16];
	int fd;

	if (read_file(AT_FDCWD, file, text, sizeof(text)) < 0 || atoi(text) >= 0)
		return;
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "0", 1) == 1)
		close(fd);
}

void child__silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

void child__begin(void)
{
	sigset_t none;
	int s;

	for (s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	child_group__enter();
	give_up_oom_protection();
}

static bool is_root(const struct child_user *u)
{
	return u->uid == 0 && u->gid == 0;
}

static int take_groups(const struct child_user *u)
{
	return ids__set_groups(u->user[0] ? u->user : "nobody", u->gid);
}

int child__become(const struct child_user *u)
{
	int err;

	if (!geteuid() && !is_root(u)) {
		err = take_groups(u);
		if (err)
			return err;
		err = ids__set(u->uid, u->gid);
		if (err)
			return err;
	}
	/* this comes last: a change of ids sets the flag to the value of fs.suid_dumpable */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int child__act_as(const struct child_user *u)
{
	int err = is_root(u) ? 0 : take_groups(u);

	return err || is_root(u) ? err : ids__set_effective(u->uid, u->gid);
}

int child__act_as_root(void)
{
	int err = ids__set_effective(0, 0);

	return err ? err : ids__drop_groups();
}

int child__end_with(pid_t parent, int sig)
{
	if (prctl(PR_SET_PDEATHSIG, sig))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}
