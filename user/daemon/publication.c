// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/publication.h"

#define DEADLINE_S   120
#define RETRY_MIN_NS (1 * NSEC_PER_SEC)
#define RETRY_MAX_NS (60 * NSEC_PER_SEC)
#define JOURNAL_FD   3
#define DIR_FD	     4

/*
 * The user's directory below ProfileHDF5Dir, made as Slurm makes it: the top one 0755 if missing,
 * the user's 0700 and his. Nothing of what is there already is changed or followed.
 */
static void make_user_dir(const struct publication *p)
{
	int fd;

	if (mkdir(p->dir, 0755) && errno != EEXIST)
		return; /* the writer says why it cannot be opened */
	fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!mkdirat(fd, p->user, 0700)) {
		int sub = openat(fd, p->user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (sub < 0 || fchown(sub, p->uid, p->gid))
			log_error("cannot give %s/%s to its user: %s", p->dir, p->user,
				  strerror(errno));
		if (sub >= 0)
			close(sub);
	}
	close(fd);
}

static int become_user(const struct publication *p)
{
	if (geteuid())
		return 0;
	if (p->uid == 0 && p->gid == 0)
		return 0;
	if (initgroups(p->user[0] ? p->user : "nobody", p->gid) && setgroups(1, &p->gid))
		return -errno;
	if (setresgid(p->gid, p->gid, p->gid) || setresuid(p->uid, p->uid, p->uid))
		return -errno;
	return 0;
}

/* Another step's child may be between making the directory and giving it to the user. */
static int open_user_dir(const struct publication *p, const char *path)
{
	int fd, tries = 0;

	do {
		fd = open(path, O_RDONLY | O_DIRECTORY | (p->user[0] ? O_NOFOLLOW : 0));
	} while (fd < 0 && errno == EACCES && ++tries < 10 && !usleep(10000));
	return fd;
}

/*
 * The next daemon starts a writer of its own for the same file: two would share one temporary name.
 * A change of ids takes the wish back, so it comes after that.
 */
static int end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* In the child: as the user from here on. Never returns. */
static void run_writer(const struct publication *p, const char *writer, bool final, pid_t parent)
{
	char jfd[16], dfd[16], deadline[16], path[PUBLISH_PATH + 80];
	int journal, dir;

	/* Before anything that may hang: these are the locks of StateDir and of the journals. */
	close_range(STDERR_FILENO + 1, ~0u, 0);
	journal = open(p->journal, O_RDONLY | O_CLOEXEC);
	if (journal < 0) {
		log_error("cannot read journal %s: %s", p->journal, strerror(errno));
		_exit(1);
	}
	if (p->user[0] && !geteuid())
		make_user_dir(p);
	if (become_user(p)) {
		log_error("cannot become uid %u for %s: %s", p->uid, p->name, strerror(errno));
		_exit(1);
	}
	if (end_with(parent))
		_exit(1);
	snprintf(path, sizeof(path), "%s%s%s", p->dir, p->user[0] ? "/" : "", p->user);
	dir = open_user_dir(p, path);
	if (dir < 0) {
		log_error("cannot write %s into %s as uid %u: %s", p->name, path, p->uid,
			  strerror(errno));
		_exit(1);
	}
	/* out of the way first: dup2() onto itself would leave it close-on-exec */
	journal = fcntl(journal, F_DUPFD, 16);
	dir = fcntl(dir, F_DUPFD, 16);
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

static void default_signals(void)
{
	sigset_t none;
	int s;

	for (s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int publication__start(struct publication *p, const char *writer, bool final, uint64_t now_ns)
{
	pid_t pid, parent = getpid();

	if (p->pid || p->done || now_ns < p->next_ns)
		return -EAGAIN;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		default_signals();
		run_writer(p, writer, final, parent);
	}
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
	static const char *const places[] = {"", "/../libexec/jobprof"};
	char self[PUBLISH_PATH] = "", *slash;
	size_t i;

	if (configured) {
		snprintf(buf, len, "%s", configured);
		return;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !(slash = strrchr(self, '/')))
		slash = self;
	*slash = 0;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(buf, len, "%s%s/jobprof-writer", self, places[i]);
		if (!access(buf, X_OK))
			return;
	}
}
