/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several limited child processes that work on the items of a list. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/pool_internal.h"

#define PIPE_BYTES (256 << 10) /* several results: a worker is seldom held up by the reader */

struct worker {
	struct pool_child child;
	int fd; /* its results come from here */
};

struct pool {
	struct pool_work work;
	struct pool_limits limits;
	unsigned n;    /* workers */
	unsigned next; /* item whose result comes next */
	struct worker *workers;
	struct message message;
};

/* Runs in a worker: works on all its items from the item `from` on. */
static void work_on_items(const struct pool *p, unsigned from, int fd)
{
	struct message m = {0};

	for (unsigned i = from; i < p->work.nitems; i += p->n) {
		message__begin(&m);
		message__put(&m, &i, sizeof(i));
		if (p->work.work(p->work.arg, i, &m) || message__send(fd, &m))
			_exit(1);
	}
	_exit(0);
}

static int start_worker(struct pool *p, struct worker *w, unsigned from)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES);
	pid = pool_child__fork(&w->child, &p->limits, SIGKILL);
	if (!pid) {
		close(fd[0]);
		if (p->work.is_alone)
			pool_alive__keep_and(fd[1], STDERR_FILENO + 1);
		work_on_items(p, from, fd[1]);
	}
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return (int)pid;
	}
	w->fd = fd[0];
	return 0;
}

/* Kills the worker and returns its status of wait(2), which is still that of its end if the worker
 * had ended before; 0: not known. */
static int end_worker(struct worker *w)
{
	int status = 0;

	if (!w->child.pid)
		return 0;
	kill(w->child.pid, SIGKILL);
	while (waitpid(w->child.pid, &status, 0) < 0 && errno == EINTR)
		;
	close(w->fd);
	pool_child__forget(&w->child);
	return status;
}

int pool__start(struct pool **out, const struct pool_work *w, unsigned nworkers,
		const struct pool_limits *l)
{
	struct pool *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->work = *w;
	p->limits = *l;
	p->n = nworkers < w->nitems ? nworkers : w->nitems;
	p->n = p->n ? p->n : 1;
	p->workers = calloc(p->n, sizeof(*p->workers));
	if (!p->workers)
		err = -ENOMEM;
	for (unsigned k = 0; !err && k < p->n && k < w->nitems; k++)
		err = start_worker(p, &p->workers[k], k);
	if (err)
		pool__free(p);
	else
		*out = p;
	return err;
}

/* 1: the message is there; 0: it is not, or not of that item; -errno. */
static int receive_result(struct pool *p, struct worker *w, unsigned item)
{
	int got = message__receive(w->fd, &p->message);
	const unsigned *of = got == 1 ? message__take(&p->message, sizeof(*of)) : NULL;

	return got < 0 ? got : of && *of == item;
}

/* Returns the error by which the worker died at the item; another worker gets the items that
 * follow. */
static int replace_worker(struct pool *p, struct worker *w, unsigned item)
{
	int result = pool_child__result(end_worker(w)), err = 0;

	if (result == -EINTR)
		return result;
	if (p->n < p->work.nitems - item)
		err = start_worker(p, w, item + p->n);
	return err ? err : result < 0 ? result : -EBADMSG;
}

int pool__next(struct pool *p, struct message **result)
{
	const unsigned item = p->next++;
	struct worker *w = &p->workers[item % p->n];
	int got = w->child.pid ? receive_result(p, w, item) : -ECHILD;

	*result = &p->message;
	if (got < 0)
		return got;
	return got ? 0 : replace_worker(p, w, item);
}

void pool__free(struct pool *p)
{
	if (!p)
		return;
	for (unsigned k = 0; p->workers && k < p->n; k++)
		end_worker(&p->workers[k]);
	free(p->workers);
	message__free(&p->message);
	free(p);
}
