/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects the parts of all processes. The files are read in a child: it is started before there is
 * MPI, and what goes wrong there does not end this process, which MPI would take for the end of
 * all. */
#include "cmd/jobprof/reduce/reduce_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define BEAT_MS 1000

/* What this process itself reads. 0 or -errno. */
static int read_own(struct reduce_work *w, const struct reduce_world *world, struct reduction *out)
{
	int err = reduction__init(out, w->series, REDUCTION_SEED, w->o->k);

	out->processes = 1;
	if (!err)
		err = reduce_read__files(w, world->rank, world->size, out);
	if (!err)
		err = reduce_parts__add(w, world->rank, world->size, out);
	out->cpu_s += reduce_read__cpu_s();
	if (!err && w->o->keep)
		err = reduce_parts__keep(w, world->rank, out);
	return err;
}

struct reader_child {
	pid_t pid;
	int fd;
};

static void read_in_child(struct reduce_work *w, const struct reduce_world *world, int fd)
{
	struct reduction r;
	struct message m = {0};
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = read_own(w, world, &r);
	if (!err)
		err = payload__write(&m, &r);
	if (!err)
		err = message__send(fd, &m);
	_exit(err ? 1 : 0);
}

static int start_child(struct reader_child *c, struct reduce_work *w,
		       const struct reduce_world *world)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	c->pid = fork();
	if (!c->pid) {
		close(fds[0]);
		read_in_child(w, world, fds[1]);
	}
	close(fds[1]);
	c->fd = fds[0];
	return c->pid < 0 ? -errno : 0;
}

/* The part that the child sends; an empty one if there is none. */
static int end_child(struct reader_child *c, struct reduce_work *w,
		     const struct reduce_world *world, struct reduction *out)
{
	struct pollfd p = {c->fd, POLLIN, 0};
	struct message m = {0};
	int err, got;

	while (poll(&p, 1, BEAT_MS) <= 0)
		world->beat();
	got = message__receive(c->fd, &m);
	err = got > 0 ? payload__read(out, m.p, m.len) : 0;
	if (got <= 0 || err) {
		log_error("process %u has no part: its files were not reduced", world->rank);
		w->failed = true;
		reduction__free(out);
		err = reduction__init(out, w->series, REDUCTION_SEED, w->o->k);
		out->processes = 1;
		if (!err && w->files.n)
			err = reduction__list(out, w->list, w->files.n);
	}
	message__free(&m);
	close(c->fd);
	waitpid(c->pid, NULL, 0);
	return err;
}

static void add_others(struct reduce_work *w, const struct reduce_world *world,
		       struct reduction *out)
{
	unsigned first = world->rank * REDUCE_FANOUT + 1;

	for (unsigned i = first; i < first + REDUCE_FANOUT && i < world->size; i++) {
		struct message m = {0};
		struct reduction r = {0};
		char where[48];
		bool came = world->receive(i, &m);
		int err = came ? payload__read(&r, m.p, m.len) : 0;

		snprintf(where, sizeof(where), "process %u", i);
		if (!came)
			log_error("%s is lost, with what it would have added", where);
		else if (err)
			log_error("%s: %s", where, payload__strerror(err));
		else
			err = reduce_parts__merge(out, &r, where);
		w->failed |= !came || err;
		reduction__free(&r);
		message__free(&m);
	}
}

static int send_up(const struct reduce_world *world, struct reduction *out)
{
	struct message m = {0};
	int err = payload__write(&m, out);

	if (err)
		log_error("process %u: %s", world->rank, strerror(-err));
	else
		world->send(m.p, m.len);
	message__free(&m);
	return err;
}

static int collect(struct reduce_work *w, const struct reduce_world *world, struct reduction *out)
{
	struct reader_child c = {0, -1};
	int err = start_child(&c, w, world);

	if (!err)
		err = world->join();
	if (err) {
		log_error("the processes cannot be joined: %s", strerror(-err));
		return err;
	}
	err = end_child(&c, w, world, out);
	if (!err)
		add_others(w, world, out);
	out->cpu_s += reduce_read__cpu_s();
	if (!err && world->rank)
		err = send_up(world, out);
	return err;
}

int reduce_tree__collect(struct reduce_work *w, const struct reduce_world *world,
			 struct reduction *out)
{
	*out = (struct reduction){0};
	return (world->size > 1 ? collect(w, world, out) : read_own(w, world, out)) ? 1 : 0;
}
