/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects the parts of all processes. The files are read in a child, which is started before MPI.
 * An error in the child does not end this process; MPI would end all processes then. */
#include "cmd/jobprof/reduce/reduce.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

/* ---- whether several processes were started, which need the program that uses MPI */

const struct reduce_world reduce_world__alone = {.size = 1};

/* Open MPI's mpirun sets the first pair, srun the second. */
static const struct {
	const char *size, *rank;
} variables[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
	{"PMI_SIZE", "PMI_RANK"},
};

unsigned reduce_world__of_environment(unsigned *rank)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *size = getenv(variables[i].size), *own = getenv(variables[i].rank);
		uint32_t n;

		if (size && own && !parse_u32(size, &n) && !parse_u32(own, rank) && n && *rank < n)
			return n;
	}
	*rank = 0;
	return 1;
}

/* Beside this program where it was built, or in ../libexec/jobprof where it was installed. */
static bool find_program(char *path, size_t size)
{
	static const char *const places[] = {"jobprof-reduce-mpi",
					     "../libexec/jobprof/jobprof-reduce-mpi"};
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (n < 0)
		return false;
	own[n] = '\0';
	slash = strrchr(own, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		int len = snprintf(path, size, "%.*s/%s", (int)(slash - own), own, places[i]);

		if (len > 0 && (size_t)len < size && !access(path, X_OK))
			return true;
	}
	return false;
}

int reduce_world__elsewhere(char **argv)
{
	char path[PATH_MAX + 64];
	unsigned rank;

	if (reduce_world__of_environment(&rank) == 1)
		return 0;
	if (find_program(path, sizeof(path))) {
		execv(path, argv);
		log_error("%s: cannot be executed: %s", path, strerror(errno));
	} else if (!rank) {
		log_error("several processes need jobprof-reduce-mpi, which is not installed: "
			  "install libopenmpi-dev, then \"make\" and \"make install\" make it; or "
			  "start one process");
	}
	return 1;
}

#define BEAT_MS 1000

static int begin_reduction(struct reduce_work *w, struct reduction *out)
{
	int err = reduction__init(out, w->series, REDUCTION_SEED, w->model ? 0 : w->o->k);

	out->processes = 1;
	return err;
}

/* ---- the second pass */

static bool has_second(const struct reduce_work *w)
{
	return w->o->clusters || w->o->fold;
}

static struct reduction *second_of(const struct reduce_work *w, struct reduce_result *r)
{
	return w->o->fold ? &r->points : &r->clusters;
}

static void begin_second(struct reduce_work *w, const struct reduce_result *plan)
{
	w->model = w->o->clusters ? &plan->model : NULL;
	w->folded = w->o->fold ? &plan->fold : NULL;
}

/* Process 0 plans it from what the first pass has found. */
static void plan_second(struct reduce_work *w, struct reduce_result *r)
{
	reduction__order(&r->rows);
	if (w->o->clusters)
		r->clustered = reduce_model__of(&r->model, &r->rows);
	else if (reduce_fold__choose(&r->fold, &r->rows))
		w->failed = true;
}

static int take_plan(const struct reduce_work *w, struct message *m, struct reduce_result *to)
{
	return w->o->fold ? reduce_fold__take(m, &to->fold) : reduce_model__take(m, &to->model);
}

/* Reads the files of this process, in either pass. Returns 0 or -errno. */
static int read_own(struct reduce_work *w, const struct reduce_world *world, struct reduction *out)
{
	int err = begin_reduction(w, out);

	if (!err)
		err = reduce_read__files(w, world->rank, world->size, out);
	if (!err && !w->model)
		err = reduce_parts__add(w, world->rank, world->size, out);
	out->cpu_s += reduce_read__cpu_s();
	if (!err && w->o->keep && !w->model)
		err = reduce_parts__keep(w, world->rank, out);
	return err;
}

/* ---- the child that reads */

struct reader_child {
	pid_t pid;
	int fd;
};

static int read_and_send(struct reduce_work *w, const struct reduce_world *world, int fd)
{
	struct message m = {0};
	struct reduction r;
	int err = read_own(w, world, &r);

	if (!err)
		err = payload__write(&m, &r);
	if (!err)
		err = message__send(fd, &m);
	reduction__free(&r);
	message__free(&m);
	return err;
}

/* Reads once; and when it is given a plan, a second time. */
static void read_in_child(struct reduce_work *w, const struct reduce_world *world, int fd)
{
	static struct reduce_result plan;
	struct message m = {0};
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = read_and_send(w, world, fd);
	if (!err && has_second(w) && message__receive(fd, &m) > 0) {
		err = take_plan(w, &m, &plan);
		begin_second(w, &plan);
		if (!err)
			err = read_and_send(w, world, fd);
	}
	_exit(err ? 1 : 0);
}

static int start_child(struct reader_child *c, struct reduce_work *w,
		       const struct reduce_world *world)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
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
static int hear_child(const struct reader_child *c, struct reduce_work *w,
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
		err = begin_reduction(w, out);
		if (!err && w->in.nfiles)
			err = reduction__list(out, w->list, w->in.nfiles);
	}
	message__free(&m);
	return err;
}

static void end_child(const struct reader_child *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
}

/* ---- up the tree and down */

/* 0; -EEXIST: it follows the same node as another one. */
static int add_other(struct reduce_work *w, const struct reduce_world *world, unsigned rank,
		     struct reduction *out)
{
	struct message m = {0};
	struct reduction r = {0};
	char where[48];
	bool came = world->receive(rank, &m);
	int err = came ? payload__read(&r, m.p, m.len) : 0;

	snprintf(where, sizeof(where), "process %u", rank);
	if (!came)
		log_error("%s is lost, with what it would have added", where);
	else if (err)
		log_error("%s: %s", where, payload__strerror(err));
	else
		err = reduce_parts__merge(w, out, &r, where);
	w->failed |= !came || err;
	reduction__free(&r);
	message__free(&m);
	return err == -EEXIST && w->o->follow ? err : 0;
}

static unsigned first_child(const struct reduce_world *world)
{
	return world->rank * REDUCE_FANOUT + 1;
}

static unsigned end_of_children(const struct reduce_world *world)
{
	unsigned end = first_child(world) + REDUCE_FANOUT;

	return end < world->size ? end : world->size;
}

int reduce_tree__up(struct reduce_work *w, const struct reduce_world *world, struct reduction *out)
{
	struct message m = {0};
	int err = 0;

	for (unsigned i = first_child(world); !err && i < end_of_children(world); i++)
		err = add_other(w, world, i, out);
	out->cpu_s += reduce_read__cpu_s();
	if (!err && world->rank) {
		err = payload__write(&m, out);
		if (err)
			log_error("process %u: %s", world->rank, strerror(-err));
		else
			world->send(reduce_tree__parent(world->rank), m.p, m.len);
	}
	message__free(&m);
	return err;
}

/* Sends up what the child has read, with the parts of the processes below. */
static int collect_child(const struct reader_child *c, struct reduce_work *w,
			 const struct reduce_world *world, struct reduction *out)
{
	int err = hear_child(c, w, world, out);

	return err ? err : reduce_tree__up(w, world, out);
}

int reduce_tree__down(const struct reduce_world *world, struct message *m)
{
	if (world->rank && !world->receive(reduce_tree__parent(world->rank), m))
		return -ECONNRESET;
	for (unsigned i = first_child(world); i < end_of_children(world); i++)
		world->send(i, m->p, m->len);
	return 0;
}

/* The plan of process 0 goes down; *own is this process's copy. */
static int share_plan(const struct reader_child *c, const struct reduce_work *w,
		      const struct reduce_world *world, struct reduce_result *own)
{
	struct message m = {0};
	int err;

	if (!world->rank && w->o->fold)
		reduce_fold__put(&m, &own->fold);
	else if (!world->rank)
		reduce_model__put(&m, &own->model);
	err = reduce_tree__down(world, &m);
	if (!err)
		err = message__send(c->fd, &m);
	if (!err && world->rank)
		err = take_plan(w, &m, own);
	message__free(&m);
	return err;
}

static int reduce_together(struct reduce_work *w, const struct reduce_world *world,
			   struct reduce_result *out)
{
	struct reader_child c = {0, -1};
	int err = start_child(&c, w, world);

	if (!err)
		err = world->join();
	if (!err)
		err = collect_child(&c, w, world, &out->rows);
	if (!err && has_second(w)) {
		if (!world->rank)
			plan_second(w, out);
		err = share_plan(&c, w, world, out);
		begin_second(w, out);
		if (!err)
			err = collect_child(&c, w, world, second_of(w, out));
	}
	if (err)
		log_error("process %u cannot go on: %s", world->rank, strerror(-err));
	end_child(&c);
	return err;
}

static int reduce_alone(struct reduce_work *w, const struct reduce_world *world,
			struct reduce_result *out)
{
	int err = read_own(w, world, &out->rows);

	if (err || !has_second(w) || !reduction__coverage(&out->rows).read)
		return err;
	plan_second(w, out);
	begin_second(w, out);
	return read_own(w, world, second_of(w, out));
}

int reduce_tree__collect(struct reduce_work *w, const struct reduce_world *world,
			 struct reduce_result *out)
{
	int err = world->size > 1 ? reduce_together(w, world, out) : reduce_alone(w, world, out);

	if (!err && has_second(w))
		reduction__cover(&out->rows, second_of(w, out));
	return err ? 1 : 0;
}
