// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "daemon/child.h"
#include "daemon/publication.h"
#include "daemon/user_dir.h"

#define DEADLINE_S   120
#define RETRY_MIN_NS (1 * NSEC_PER_SEC)
#define RETRY_MAX_NS (60 * NSEC_PER_SEC)
#define JOURNAL_FD   3
#define DIR_FD	     4

/* One file of several goes to a directory of its user's; jobprof run's to one that is there. */
static int open_dir(const struct publication *p, const struct child_user *u)
{
	char why[1200];
	int fd;

	if (p->user[0])
		fd = user_dir__open(p->dir, u, why, sizeof(why));
	else if ((fd = open(p->dir, O_RDONLY | O_DIRECTORY)) < 0)
		snprintf(why, sizeof(why), "%s: %s", p->dir, strerror(errno));
	if (fd < 0 && !p->failures) /* said once, however often it is tried */
		log_error("cannot write %s as uid %u: %s", p->name, p->uid, why);
	return fd;
}

/* In the child: as the user from here on. Never returns. */
static void run_writer(const struct publication *p, const char *writer, bool final, pid_t parent)
{
	struct child_user u = {p->user, p->uid, p->gid};
	char jfd[16], dfd[16], deadline[16];
	int journal, dir;

	/* Before anything that may hang: it closes the locks of StateDir and of the journals. */
	child__begin();
	journal = open(p->journal, O_RDONLY | O_CLOEXEC);
	if (journal < 0) {
		log_error("cannot read journal %s: %s", p->journal, strerror(errno));
		_exit(1);
	}
	if (p->user[0] && !geteuid())
		user_dir__make(p->dir, &u);
	if (child__become(&u)) {
		log_error("cannot become uid %u for %s: %s", p->uid, p->name, strerror(errno));
		_exit(1);
	}
	/* The next daemon starts a writer of its own: two would share one temporary name. */
	if (child__end_with(parent, SIGKILL))
		_exit(1);
	dir = open_dir(p, &u);
	if (dir < 0)
		_exit(1);
	/* out of the way first: dup2() onto itself would leave it close-on-exec */
	journal = fcntl(journal, F_DUPFD, 16);
	dir = fcntl(dir, F_DUPFD, 16);
	child__silence();
	if (dup2(journal, JOURNAL_FD) < 0 || dup2(dir, DIR_FD) < 0)
		_exit(1);
	close_range(DIR_FD + 1, ~0u, 0);
	snprintf(jfd, sizeof(jfd), "%d", JOURNAL_FD);
	snprintf(dfd, sizeof(dfd), "%d", DIR_FD);
	snprintf(deadline, sizeof(deadline), "%d", DEADLINE_S);
	execl(writer, "jobprof-writer", "-j", jfd, "-d", dfd, "-n", p->name, "-m",
	      final ? "final" : "live", "-D", deadline, (char *)NULL);
	log_error("cannot run %s: %s: set Writer= in jobprof.conf", writer, strerror(errno));
	_exit(1);
}

int publication__start(struct publication *p, const char *writer, bool final, uint64_t now_ns)
{
	pid_t pid, parent = getpid();

	if (p->pid || p->done || now_ns < p->next_ns)
		return -EAGAIN;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		run_writer(p, writer, final, parent);
	p->pid = pid;
	p->final = final;
	p->started_ns = now_ns;
	p->deadline_ns = now_ns + (DEADLINE_S + 5) * NSEC_PER_SEC;
	return 0;
}

bool publication__reaped(struct publication *p, pid_t pid, int status, uint64_t now_ns)
{
	uint64_t wait;

	if (!p->pid || p->pid != pid)
		return false;
	p->pid = 0;
	p->cost_ns = now_ns - p->started_ns;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		p->failures = 0;
		p->published++;
		p->done = p->final;
		p->next_ns = now_ns;
		return true;
	}
	if (WIFSIGNALED(status))
		log_error("the writer of %s was killed by signal %d: trying again from the journal",
			  p->name, WTERMSIG(status));
	else if (!p->failures)
		log_info("the writer of %s ended with status %d: trying again from the journal",
			 p->name, WEXITSTATUS(status));
	wait = RETRY_MIN_NS << (p->failures < 6 ? p->failures : 6);
	p->failures++;
	p->next_ns = now_ns + (wait < RETRY_MAX_NS ? wait : RETRY_MAX_NS);
	return true;
}

void publication__check(struct publication *p, uint64_t now_ns)
{
	if (!p->pid || now_ns < p->deadline_ns)
		return;
	log_error("the writer of %s hangs: killing it; the journal keeps the rows", p->name);
	kill(p->pid, SIGKILL);
	p->kills++;
	p->deadline_ns = now_ns + DEADLINE_S * NSEC_PER_SEC;
}

void publication__find_writer(const char *configured, char *buf, size_t len)
{
	if (configured)
		snprintf(buf, len, "%s", configured);
	else
		program__find("jobprof-writer", "../libexec/jobprof", buf, len);
}
