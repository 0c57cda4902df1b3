/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading node-step files in processes of their own, beside the one that writes: a file that brings
 * the library down takes only its reader with it. Reader k of n looks through items k, k+n
 * ... and sends what it finds through its pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/merge_internal.h"
#include "store/merge_look.h"
#include "store/wire.h"

#define PROCESSES_MAX 64
#define PROCESSES_OWN 8		  /* taken without being asked to, ... */
#define PROCESS_FILES 32	  /* a further one for so many: with fewer it costs what it saves */
#define PIPE_BYTES    (256 << 10) /* some nodes: its two ends have to take turns less often */

struct reader_process {
	pid_t pid;
	int fd;
};

struct merge_readers {
	const struct merge_set *set;
	int old_fd;
	enum merge_look look;
	struct merge_looker *own; /* without processes */
	unsigned n, at;
	struct reader_process *v;
	struct wire wire;
	struct merge_found found;
};

unsigned merge_readers__number(unsigned wanted, unsigned nitems)
{
	const unsigned of_use = 1 + nitems / PROCESS_FILES;
	unsigned most = PROCESSES_OWN;
	cpu_set_t set;

	if (wanted)
		return wanted < PROCESSES_MAX ? wanted : PROCESSES_MAX;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	if ((unsigned)CPU_COUNT(&set) < most)
		most = CPU_COUNT(&set);
	return of_use < most ? of_use : most;
}

static void run_reader(const struct merge_readers *r, unsigned from, int fd)
{
	struct rlimit none = {0, 0};
	struct merge_looker *l;
	struct wire w = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPROF, SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	if (merge_looker__new(&l, r->set, r->old_fd, r->look))
		_exit(1);
	for (unsigned i = from; i < r->set->nitems; i += r->n) {
		wire__begin(&w);
		merge_looker__look(l, &r->set->items[i], &w);
		if (wire__send(fd, &w))
			_exit(1);
	}
	merge_looker__free(l);
	_exit(0);
}

static int start_reader(struct merge_readers *r, unsigned k, unsigned from)
{
	int fd[2];
	pid_t pid;

	if (pipe(fd))
		return -errno;
	fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES);
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(fd[0]);
		close(fd[1]);
		return err;
	}
	if (!pid) {
		close(fd[0]);
		run_reader(r, from, fd[1]);
	}
	close(fd[1]);
	r->v[k] = (struct reader_process){pid, fd[0]};
	return 0;
}

static void stop_reader(struct reader_process *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(p->fd);
	}
	*p = (struct reader_process){-1, -1};
}

int merge_readers__start(struct merge_readers **out, const struct merge_set *set, int old_fd,
			 enum merge_look look, unsigned threads)
{
	struct merge_readers *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->set = set;
	r->old_fd = old_fd;
	r->look = look;
	r->n = threads < set->nitems ? threads : set->nitems;
	r->v = calloc(r->n + 1, sizeof(*r->v));
	if (!r->v)
		err = -ENOMEM;
	else if (!r->n)
		err = merge_looker__new(&r->own, set, old_fd, look);
	for (unsigned i = 0; !err && i < r->n; i++)
		err = start_reader(r, i, i);
	if (err) {
		merge_readers__free(r);
		return err;
	}
	*out = r;
	return 0;
}

static void found_clear(struct merge_found *f)
{
	for (unsigned i = 0; i < f->ntotals; i++)
		free(f->totals[i].cols);
	free(f->totals);
	free(f->tasks);
	*f = (struct merge_found){.trouble = "", .nodelist = ""};
}

/* Of things of which each takes some of the message. */
static int take_count(struct wire *w, unsigned *n)
{
	const unsigned *p = wire__take(w, sizeof(*p));

	*n = p ? *p : 0;
	return p && *p <= w->len ? 0 : -EBADMSG;
}

static int take_tasks(struct wire *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	if (err)
		return err;
	f->tasks = calloc(n + 1, sizeof(*f->tasks));
	if (!f->tasks)
		return -ENOMEM;
	for (; f->ntasks < n; f->ntasks++)
		f->tasks[f->ntasks] = (char *)wire__take_text(w);
	return 0;
}

/* What h5__row_type relies on, of column i. */
static bool column_ok(const struct nodescan_total *t, unsigned i, unsigned array_end)
{
	const struct column *c = &t->cols[i];

	if (c->type > COL_I64)
		return false;
	return !c->array || (i >= array_end && c->array <= t->ncols - i && *c->name);
}

static int take_columns(struct wire *w, struct nodescan_total *t)
{
	unsigned array_end = 0;

	for (unsigned i = 0; i < t->ncols; i++) {
		const unsigned *kind = wire__take(w, 2 * sizeof(*kind));

		if (!kind)
			return -EBADMSG;
		t->cols[i] = (struct column){.type = kind[0], .array = kind[1]};
		t->cols[i].name = wire__take_text(w);
		if (!column_ok(t, i, array_end))
			return -EBADMSG;
		if (t->cols[i].array)
			array_end = i + t->cols[i].array;
	}
	return 0;
}

static int take_total(struct wire *w, struct nodescan_total *t)
{
	int err = take_count(w, &t->ncols);

	if (!err)
		err = take_count(w, &t->nrows);
	if (err)
		return err;
	t->name = (char *)wire__take_text(w);
	t->cols = calloc(t->ncols + 1, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	err = take_columns(w, t);
	if (!err)
		t->rows =
			(union cell *)wire__take(w, (size_t)t->ncols * t->nrows * sizeof(*t->rows));
	return err;
}

static int take_image(struct wire *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	f->image_bytes = err ? 0 : n;
	f->image = f->image_bytes ? wire__take(w, n) : NULL;
	return err;
}

static int take_totals(struct wire *w, struct merge_found *f)
{
	unsigned n;
	int err = take_count(w, &n);

	f->totals = err ? NULL : calloc(n + 1, sizeof(*f->totals));
	if (!err && !f->totals)
		err = -ENOMEM;
	while (!err && f->ntotals < n)
		err = take_total(w, &f->totals[f->ntotals++]);
	return err;
}

/* The readers are ours, but what they read may have overwritten their memory: nothing is taken
 * that is not there. */
static int take_found(struct wire *w, struct merge_found *f)
{
	const int *err = wire__take(w, sizeof(*err));
	const struct merge_stamp *stamp = wire__take(w, sizeof(*stamp));
	const struct nodescan_facts *facts = wire__take(w, sizeof(*facts));
	int bad;

	if (!err || !stamp || !facts)
		return -EBADMSG;
	f->err = *err;
	f->stamp = *stamp;
	f->facts = *facts;
	f->trouble = wire__take_text(w);
	f->nodelist = wire__take_text(w);
	bad = take_tasks(w, f);
	if (!bad)
		bad = take_totals(w, f);
	if (!bad)
		bad = take_image(w, f);
	return bad ? bad : w->bad ? -EBADMSG : 0;
}

static int look_here(struct merge_readers *r)
{
	wire__begin(&r->wire);
	merge_looker__look(r->own, &r->set->items[r->at++], &r->wire);
	return r->wire.bad ? -ENOMEM : take_found(&r->wire, &r->found);
}

int merge_readers__next(struct merge_readers *r, const struct merge_found **found)
{
	struct merge_found *f = &r->found;
	unsigned i, k;
	int err;

	found_clear(f);
	*found = f;
	if (r->own)
		return look_here(r);
	i = r->at++;
	k = i % r->n;
	err = r->v[k].pid > 0 ? wire__receive(r->v[k].fd, &r->wire) : 0;
	if (err > 0)
		err = take_found(&r->wire, f);
	else if (!err)
		err = -EBADMSG;
	if (err != -EBADMSG)
		return err;
	stop_reader(&r->v[k]);
	f->err = -EBADMSG;
	f->trouble = "damaged: its reader crashed or did not come to an end";
	return i + r->n < r->set->nitems ? start_reader(r, k, i + r->n) : 0;
}

hid_t merge_readers__file(const struct merge_readers *r)
{
	return r->own ? merge_looker__file(r->own) : H5I_INVALID_HID;
}

void merge_readers__free(struct merge_readers *r)
{
	if (!r)
		return;
	merge_looker__free(r->own);
	for (unsigned i = 0; r->v && i < r->n; i++)
		stop_reader(&r->v[i]);
	found_clear(&r->found);
	free(r->wire.p);
	free(r->v);
	free(r);
}
