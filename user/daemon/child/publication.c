/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns one journal into its file: starts a writer, watches it, and tries again when it fails. */
#include "daemon/child/publication.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "daemon/child/child.h"
#include "pool/confine.h"

/* ---- A child copies a journal to a pipe */

#define COPY_S 10
#define BLOCK  (1u << 20)

/* Not as the user, who could stop it for ever. Never returns. */
static void copy(const char *journal, int to, pid_t parent)
{
	int fd;

	if (dup2(to, STDOUT_FILENO) < 0)
		_exit(1);
	child__begin();
	alarm(COPY_S);
	fd = open(journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || child__become_helper() || child__end_with(parent, SIGKILL) ||
	    confine__process(CONFINE_COPY))
		_exit(1);
	while (sendfile(STDOUT_FILENO, fd, NULL, BLOCK) > 0)
		;
	_exit(0);
}

int journal_copy__start(const char *journal)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		copy(journal, ends[1], parent);
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -EAGAIN;
}

#define DEADLINE_S   120
#define RETRY_MIN_NS (1 * NSEC_PER_SEC)
#define RETRY_MAX_NS (60 * NSEC_PER_SEC)
#define JOURNAL_FD   3
#define DIR_FD	     4
#define CAUSES	     16
#define AGAIN_NS     (3600 * NSEC_PER_SEC)

/* The files of jobs go to a directory per user; the file of jobprof run goes to a directory that
 * exists. */
static int open_dir(const struct publication *p, const struct child_user *u, int made)
{
	char error[1200];
	int fd;

	if (p->user[0])
		fd = user_dir__open(p->dir, u, made, error, sizeof(error));
	else if ((fd = open(p->dir, O_RDONLY | O_DIRECTORY)) < 0)
		snprintf(error, sizeof(error), "%s: %s", p->dir, strerror(errno));
	if (fd < 0)
		log_error("%s", error);
	return fd;
}

/* A journal that has no name goes to the one number that child__begin() leaves open. It is opened
 * anew, since the daemon's own descriptor can be written. */
static void keep_as_stdin(int fd)
{
	char path[32];
	int copy;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, O_RDONLY | O_CLOEXEC);
	if (copy < 0 || dup2(copy, STDIN_FILENO) < 0) {
		log_error("cannot read the open journal: %s", strerror(errno));
		_exit(1);
	}
}

/* Nothing was published for a user who has no directory. */
static bool has_no_dir(const struct publication *p)
{
	char path[PUBLISH_PATH + 66];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", p->dir, p->user);
	return !stat(p->dir, &st) && lstat(path, &st) && errno == ENOENT;
}

static void __attribute__((noreturn))
exec_writer(const struct publication *p, const char *writer, bool final, int journal, int dir)
{
	char jfd[16], dfd[16], deadline[16];

	/* moved to high numbers first: dup2() of a descriptor onto itself would leave it
	 * close-on-exec */
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
	      p->unwanted ? "remove"
	      : final	  ? "final"
			  : "live",
	      "-D", deadline, (char *)NULL);
	log_error("cannot run %s: %s: set Writer= in jobprof.conf", writer, strerror(errno));
	_exit(1);
}

/* Runs in the child, as the user from child__become() on. Never returns. */
static void run_writer(const struct publication *p, const char *writer, bool final, pid_t parent)
{
	struct child_user u = {p->user, p->uid, p->gid};
	int journal, dir, made = 0, err;

	if (p->unnamed)
		keep_as_stdin(p->journal_fd);
	/* this comes before any call that may hang: it closes the locks of StateDir and of the
	 * journals */
	child__begin();
	journal = p->unnamed ? STDIN_FILENO : open(p->journal, O_RDONLY | O_CLOEXEC);
	if (journal < 0) {
		log_error("cannot read journal %s: %s", p->journal, strerror(errno));
		_exit(1);
	}
	if (p->user[0] && !geteuid() && !p->unwanted)
		made = user_dir__make(p->dir, &u);
	err = child__become(&u);
	if (err) {
		log_error("cannot become uid %u: %s", p->uid, strerror(-err));
		_exit(1);
	}
	/* The next daemon starts a writer of its own: two would share one temporary name. */
	if (child__end_with(parent, SIGKILL))
		_exit(1);
	if (p->unwanted && has_no_dir(p))
		_exit(0);
	dir = open_dir(p, &u, made);
	if (dir < 0)
		_exit(1);
	exec_writer(p, writer, final, journal, dir);
}

/* The writer's stderr is read when the writer has ended: neither of us waits for the other. */
static int open_stderr_pipe(int p[2])
{
	return pipe2(p, O_CLOEXEC | O_NONBLOCK) ? -errno : 0;
}

int publication__lock(struct publication *p)
{
	int fd = open(p->journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st))
		err = -errno;
	else if (!st.st_nlink)
		err = -ENOENT;
	if (err)
		close(fd);
	else
		p->journal_fd = fd;
	return err;
}

/* Every jobprof run finishes the journals that killed ones have left: one of them at a time. */
static int lock_leftover(struct publication *p, bool final)
{
	int err = !final || p->user[0] || p->journal_fd ? 0 : publication__lock(p);

	p->done = err == -EWOULDBLOCK || err == -ENOENT; /* another process makes the file */
	return p->done ? -EAGAIN : err;
}

int publication__start(struct publication *p, const char *writer, bool final, uint64_t now_ns)
{
	pid_t pid, parent = getpid();
	int pipe_fds[2], err;

	if (p->pid || p->done || now_ns < p->next_ns)
		return -EAGAIN;
	err = lock_leftover(p, final);
	if (!err)
		err = open_stderr_pipe(pipe_fds);
	if (err)
		return err;
	pid = fork();
	if (!pid) {
		dup2(pipe_fds[1], STDERR_FILENO);
		log__init("jobprof-writer", LOGL_INFO);
		run_writer(p, writer, final, parent);
	}
	close(pipe_fds[1]);
	if (pid < 0) {
		close(pipe_fds[0]);
		return -errno;
	}
	p->stderr_fd = pipe_fds[0];
	p->pid = pid;
	p->final = final;
	p->started_ns = now_ns;
	p->deadline_ns = now_ns + (DEADLINE_S + 5) * NSEC_PER_SEC;
	return 0;
}

/* Returns a line of the writer without the prefix that all its lines have. */
static const char *skip_prefix(const char *line, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(line, prefix, len) && !strncmp(line + len, ": ", 2) ? line + len + 2 : line;
}

/* Lines of a writer that succeeded go to the log; of a failed writer the last line is the cause. */
static void read_writer_output(struct publication *p, bool done)
{
	char text[2048], *rest = text, *line;
	ssize_t n = read(p->stderr_fd, text, sizeof(text) - 1);

	close(p->stderr_fd);
	text[n > 0 ? n : 0] = '\0';
	if (!done)
		p->error[0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (done && !p->unlogged)
			/* jobprof run has no log of what goes well */
			log__print(p->user[0] ? LOGL_DEBUG : LOGL_WARN, "%s",
				   skip_prefix(line, "jobprof-writer"));
		if (!done)
			snprintf(p->error, sizeof(p->error), "%s",
				 skip_prefix(skip_prefix(line, "jobprof-writer"), p->name));
	}
}

/* Causes that were logged within the hour: when many files fail alike the log names one. */
static bool was_logged(const char *error, uint64_t now_ns)
{
	static struct {
		char error[PUBLISH_ERROR];
		uint64_t again_ns;
	} logged[CAUSES];
	unsigned i, oldest = 0;

	for (i = 0; i < CAUSES; i++) {
		if (!strcmp(logged[i].error, error) && now_ns < logged[i].again_ns)
			return true;
		if (logged[i].again_ns < logged[oldest].again_ns)
			oldest = i;
	}
	snprintf(logged[oldest].error, sizeof(logged[oldest].error), "%s", error);
	logged[oldest].again_ns = now_ns + AGAIN_NS;
	return false;
}

/* Where the rows of a file that is not written are. */
static const char *rows_are(const struct publication *p)
{
	if (p->unreadable)
		return "its rows are lost, as another program has changed the journal";
	if (p->unnamed)
		return "its rows are lost if this process ends, as the journal was removed";
	return "its rows stay in the journal";
}

/* The log has each cause once an hour, however often the file is tried. */
static void log_failure(struct publication *p, uint64_t now_ns)
{
	bool first = !p->failures, silent = p->unlogged || was_logged(p->error, now_ns);

	if (first)
		p->failing_ns = now_ns;
	if (first || !silent)
		log__print(silent ? LOGL_DEBUG : LOGL_ERROR,
			   "cannot write %s as uid %u: %s; %s, and writing is tried again", p->name,
			   p->uid, p->error, rows_are(p));
}

void publication__end(struct publication *p)
{
	if (p->journal_fd > 0)
		close(p->journal_fd);
	p->journal_fd = 0;
}

static void count_failure(struct publication *p, int status, uint64_t now_ns)
{
	uint64_t wait = RETRY_MIN_NS << (p->failures < 6 ? p->failures : 6);

	if (!p->error[0] && WIFSIGNALED(status))
		snprintf(p->error, sizeof(p->error), "its writer was killed by signal %d",
			 WTERMSIG(status));
	else if (!p->error[0])
		snprintf(p->error, sizeof(p->error), "its writer ended with status %d",
			 WEXITSTATUS(status));
	p->unreadable = WIFEXITED(status) && WEXITSTATUS(status) == WRITER_NO_JOURNAL;
	log_failure(p, now_ns);
	p->failures++;
	p->next_ns = now_ns + (wait < RETRY_MAX_NS ? wait : RETRY_MAX_NS);
}

static void note_cost(struct publication *p, uint64_t took_ns)
{
	p->cost_ns = took_ns < p->took_ns ? took_ns : p->took_ns;
	p->took_ns = took_ns;
}

bool publication__reaped(struct publication *p, pid_t pid, int status, uint64_t now_ns)
{
	bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (!p->pid || p->pid != pid)
		return false;
	p->pid = 0;
	read_writer_output(p, done);
	if (!done) {
		count_failure(p, status, now_ns);
		return true;
	}
	note_cost(p, now_ns - p->started_ns);
	if (p->failures)
		log_info("%s is written again", p->name);
	p->failures = 0;
	p->published++;
	p->done = p->final;
	p->next_ns = now_ns;
	return true;
}

void publication__check(struct publication *p, uint64_t now_ns)
{
	if (!p->pid || now_ns < p->deadline_ns)
		return;
	log__print(was_logged("a writer hangs", now_ns) ? LOGL_DEBUG : LOGL_ERROR,
		   "the writer of %s hangs: killing it; the journal keeps the rows", p->name);
	kill(p->pid, SIGKILL);
	p->kills++;
	p->deadline_ns = UINT64_MAX; /* it ends with the call that it hangs in */
}

void publication__find_writer(const char *configured, char *buf, size_t len)
{
	if (configured)
		snprintf(buf, len, "%s", configured);
	else
		program__find("jobprof-writer", "../libexec/jobprof", buf, len);
}
