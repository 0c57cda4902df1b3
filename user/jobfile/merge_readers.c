/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading node-step files in processes of their own, beside the one that writes: a file that brings
 * the library down takes only its reader with it. Each sends what it finds through its pipe. Who
 * looks at which item is in memory that all share: reader k of n has k, k+n ...; or, where the one
 * that writes looks too whenever it would have to wait, whoever comes first.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "pool/anew.h"
#include "pool/pool.h"
#include "jobfile/merge_internal.h"
#include "jobfile/merge_inspect.h"
#include "pool/message.h"

#define PROCESSES_MAX 64
#define PROCESSES_OWN 8		  /* taken without being asked to, ... */
#define PROCESS_FILES 12	  /* a further one for so many: with fewer it costs what it saves */
#define PIPE_BYTES    (256 << 10) /* some nodes: its two ends have to take turns less often */
#define AHEAD	      4		  /* items found before they are asked for, at most, ... */
#define AHEAD_BYTES   (1u << 20)  /* and none after so large a one */

/* Who looks at an item. */
enum { NOBODY, WRITER, READER };

struct reader_process {
	pid_t pid;
	int fd;
};

/* What was found before it was asked for. */
struct ahead {
	unsigned item;
	struct message wire;
};

struct merge_readers {
	const struct merge_set *set;
	int old_fd;
	enum merge_look look;
	struct merge_looker *own; /* of the one that writes, or NULL */
	unsigned own_item;	  /* it was at last */
	uint8_t *who;		  /* looks at each item; READER + k; shared */
	unsigned n, at;
	struct reader_process *v;
	struct ahead ahead[AHEAD];
	unsigned nahead, next_ahead;
	struct message wire;
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

/* Whether the item is that one's to look at. */
static bool claim(const struct merge_readers *r, unsigned item, uint8_t who)
{
	uint8_t was = NOBODY;

	return __atomic_compare_exchange_n(&r->who[item], &was, who, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ||
	       was == who;
}

static void run_reader(const struct merge_readers *r, unsigned k, unsigned from, int fd)
{
	struct rlimit none = {0, 0};
	struct merge_looker *l;
	struct message w = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPROF, SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	merge__prepare(r->set->nitems);
	if (merge_looker__new(&l, r->set, r->old_fd, r->look))
		_exit(1);
	for (unsigned i = from; i < r->set->nitems; i++) {
		if (!claim(r, i, READER + k))
			continue;
		message__begin(&w);
		message__put(&w, &i, sizeof(i));
		merge_looker__look(l, &r->set->items[i], &w);
		if (message__send(fd, &w))
			_exit(1);
	}
	merge_looker__free(l);
	_exit(0);
}

static int start_reader(struct merge_readers *r, unsigned k, unsigned from)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES);
	pid = beside__fork();
	if (pid < 0) {
		int err = -errno;

		close(fd[0]);
		close(fd[1]);
		return err;
	}
	if (!pid) {
		close(fd[0]);
		run_reader(r, k, from, fd[1]);
	}
	close(fd[1]);
	anew__child(pid);
	r->v[k] = (struct reader_process){pid, fd[0]};
	return 0;
}

static void stop_reader(struct reader_process *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
		anew__child_gone(p->pid);
		close(p->fd);
	}
	*p = (struct reader_process){-1, -1};
}

static int start(struct merge_readers *r, unsigned readers, bool look_too)
{
	const unsigned n = r->set->nitems;
	int err = 0;

	r->n = readers < n ? readers : n;
	r->v = calloc(r->n + 1, sizeof(*r->v));
	r->who = pool__share(n);
	if (!r->v || !r->who)
		return -ENOMEM;
	for (unsigned i = 0; r->n && !look_too && i < n; i++)
		r->who[i] = READER + i % r->n;
	for (unsigned k = 0; !err && k < r->n; k++)
		err = start_reader(r, k, 0);
	merge__prepare(n);
	if (!err && (!r->n || look_too))
		err = merge_looker__new(&r->own, r->set, r->old_fd, r->look);
	return err;
}

int merge_readers__start(struct merge_readers **out, const struct merge_set *set, int old_fd,
			 enum merge_look look, unsigned readers, bool look_too)
{
	struct merge_readers *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->set = set;
	r->old_fd = old_fd;
	r->look = look;
	err = start(r, readers, look_too);
	if (err) {
		merge_readers__free(r);
		return err;
	}
	*out = r;
	return 0;
}

static int look(struct merge_readers *r, unsigned item, struct message *w)
{
	message__begin(w);
	message__put(w, &item, sizeof(item));
	merge_looker__look(r->own, &r->set->items[item], w);
	r->own_item = item;
	return w->bad ? -ENOMEM : 0;
}

/* At the first item after this one that nobody has looked at. 1: it has; 0: there is none, or
 * enough is kept; -errno. */
static int look_ahead(struct merge_readers *r, unsigned item)
{
	struct ahead *a = &r->ahead[r->nahead];
	unsigned *next = &r->next_ahead;
	int err;

	if (!r->own || r->nahead == AHEAD ||
	    (r->nahead && r->ahead[r->nahead - 1].wire.len > AHEAD_BYTES))
		return 0;
	*next = *next > item ? *next : item + 1;
	while (*next < r->set->nitems && !claim(r, *next, WRITER))
		++*next;
	if (*next == r->set->nitems)
		return 0;
	a->item = (*next)++;
	err = look(r, a->item, &a->wire);
	r->nahead += !err;
	return err ? err : 1;
}

/* They were found in the order of items. */
static bool was_ahead(struct merge_readers *r, unsigned item)
{
	struct ahead first = r->ahead[0];

	if (!r->nahead || first.item != item)
		return false;
	r->nahead--;
	memmove(r->ahead, r->ahead + 1, r->nahead * sizeof(*r->ahead));
	r->ahead[r->nahead].wire = r->wire; /* its room */
	r->wire = first.wire;
	return true;
}

static bool has_sent(const struct reader_process *p)
{
	struct pollfd f = {.fd = p->fd, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

/* Its reader's message, in r->wire. -EBADMSG: it sends none. */
static int receive(struct merge_readers *r, unsigned item, struct reader_process *p)
{
	int err = 1;

	if (p->pid <= 0)
		return -EBADMSG;
	while (err > 0 && !has_sent(p))
		err = look_ahead(r, item);
	if (err < 0)
		return err;
	err = message__receive(p->fd, &r->wire);
	return err > 0 ? 0 : err ? err : -EBADMSG;
}

/* Another one for what is left to it. */
static int lost_reader(struct merge_readers *r, unsigned k)
{
	stop_reader(&r->v[k]);
	r->found.err = -EBADMSG;
	r->found.trouble = "damaged: its reader crashed or did not come to an end";
	return r->at < r->set->nitems ? start_reader(r, k, r->at) : 0;
}

int merge_readers__next(struct merge_readers *r, const struct merge_found **found)
{
	struct merge_found *f = &r->found;
	const unsigned i = r->at++;
	unsigned k;
	int err;

	merge_found__clear(f);
	*found = f;
	if (was_ahead(r, i))
		return merge_found__take(f, i, &r->wire);
	if (r->own && claim(r, i, WRITER)) {
		err = look(r, i, &r->wire);
		return err ? err : merge_found__take(f, i, &r->wire);
	}
	k = r->own ? (unsigned)r->who[i] - READER : i % r->n;
	if (k >= r->n) {
		f->err = -EBADMSG;
		f->trouble = "damaged: a reader has overwritten what it shares";
		return 0;
	}
	err = receive(r, i, &r->v[k]);
	if (!err)
		err = merge_found__take(f, i, &r->wire);
	return err == -EBADMSG ? lost_reader(r, k) : err;
}

hid_t merge_readers__file(const struct merge_readers *r)
{
	const bool has_it = r->own && r->at == r->own_item + 1;

	return has_it ? merge_looker__file(r->own) : H5I_INVALID_HID;
}

void merge_readers__free(struct merge_readers *r)
{
	if (!r)
		return;
	merge_looker__free(r->own);
	for (unsigned i = 0; r->v && i < r->n; i++)
		stop_reader(&r->v[i]);
	merge_found__clear(&r->found);
	for (unsigned i = 0; i < AHEAD; i++)
		free(r->ahead[i].wire.p);
	free(r->wire.p);
	pool__unshare(r->who, r->set->nitems);
	free(r->v);
	free(r);
}
