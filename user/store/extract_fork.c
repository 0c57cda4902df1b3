/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extraction by several processes, since the library reads with one thread only. They are there
 * before it begins, and each begins it for itself: as copies of a process that has begun they would
 * have to copy every page they write to, which takes longer. All read the file that is open: their
 * driver has no position in it that they would share. The nodes are cut into blocks; process k of n
 * takes blocks k, k + n, ... Of few processes the first is the parent, and writes its blocks out
 * itself. A helper makes their text in memory that it has in common with the parent, slot after
 * slot. The parent writes it out from there, block after block in order: text goes through no pipe,
 * which would cost as much as making it. How many slots there are bounds how far a process runs
 * ahead: a block should not be more, or all wait for the one whose turn it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fully.h"
#include "base/log.h"
#include "store/extract_lane.h"
#include "store/guard.h"
#include "store/wire.h"

#define THREADS_DEFAULT 8
#define BYTES_EACH	(1u << 20)  /* of the file, that a process more is worth */
#define BYTES_LEAST	(32u << 10) /* without that many it would have nothing to do */
#define PARENT_TOO	4u  /* processes; of more, writing out what they make is enough for one */
#define BLOCK_MAX	16u /* nodes, ... */
#define BLOCK_BYTES	(512u << 10) /* or of the file, of rows */

_Static_assert(EXTRACT_THREADS_MAX <= GUARD_BESIDE_MAX, "each of them may be left to the guard");

struct helper {
	struct guard_beside process;
	struct lane lane;
};

struct helpers {
	struct helper v[EXTRACT_THREADS_MAX]; /* v[first] to v[n - 1] */
	unsigned first, n;		      /* first 1: the parent takes blocks too */
};

static uint64_t file_bytes(const struct extraction *x)
{
	struct stat st;

	return fstat(x->fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

/* The parent is one of them. */
static unsigned processes(const struct extraction *x)
{
	const uint64_t bytes = file_bytes(x);
	uint64_t max = x->opt->threads, most = 1 + bytes / BYTES_LEAST;

	if (!max) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		most = bytes / BYTES_EACH;
		max = cores < THREADS_DEFAULT ? (uint64_t)cores : THREADS_DEFAULT;
	}
	max = max > EXTRACT_THREADS_MAX ? EXTRACT_THREADS_MAX : max;
	return (unsigned)(max < most ? max : most);
}

bool extract__helped(const struct extraction *x)
{
	return x->helpers && x->nrefs > 1;
}

static void unshare(struct lane *l)
{
	if (l->slots)
		close(l->fd);
	guard__unshare(l->slots, (size_t)LANE_SLOTS * LANE_SLOT);
	l->slots = NULL;
}

void extract__dismiss_helpers(struct extraction *x, bool well)
{
	struct helpers *h = x->helpers;

	for (unsigned k = 0; h && k < h->n; k++) {
		unshare(&h->v[k].lane);
		if (well)
			guard__beside_done(&h->v[k].process);
		else
			guard__beside_end(&h->v[k].process);
	}
	free(h);
	x->helpers = NULL;
}

/* The two ends of a lane. 0 or -errno. */
static int make_lane(struct lane *own, struct lane *other)
{
	int fds[2], err;

	*own = (struct lane){.slots = guard__share((size_t)LANE_SLOTS * LANE_SLOT)};
	if (!own->slots)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		guard__unshare(own->slots, (size_t)LANE_SLOTS * LANE_SLOT);
		own->slots = NULL;
		return err;
	}
	*other = *own;
	own->fd = fds[0];
	other->fd = fds[1];
	return 0;
}

static int call(struct extraction *x, unsigned k)
{
	struct helper *v = x->helpers->v;
	struct lane other = {.fd = -1};
	int err = make_lane(&v[k].lane, &other);
	pid_t pid;

	if (err)
		return err;
	pid = guard__beside(&v[k].process);
	if (!pid) {
		/* The others' ends too, or none of them would see the parent go. */
		for (unsigned i = x->helpers->first; i <= k; i++)
			close(v[i].lane.fd);
		extract__help(x, &other);
	}
	close(other.fd);
	return pid < 0 ? pid : 0;
}

int extract__call_helpers(struct extraction *x)
{
	const unsigned n = processes(x);
	int err = 0;

	if (n <= 1 || x->helpers)
		return 0;
	x->helpers = calloc(1, sizeof(*x->helpers));
	if (!x->helpers)
		return -ENOMEM;
	x->helpers->first = n <= PARENT_TOO;
	for (unsigned k = x->helpers->first; !err && k < n; k++) {
		x->helpers->n = k + 1;
		err = call(x, k);
	}
	if (!err)
		return 0;
	log_error("%s: no process to help reading it: %s", x->path, strerror(-err));
	extract__dismiss_helpers(x, false);
	return -ECHILD;
}

/* What ends early is a process that died. */
static int receive(int fd, void *to, size_t len)
{
	return read_fully(fd, to, len) == (ssize_t)len ? 0 : -ECHILD;
}

static int take_report(struct extraction *x, int fd)
{
	struct report r;
	uint8_t *marks = calloc(x->nrefs + x->sel.ntasks + 1, 1);
	int err = marks ? receive(fd, &r, sizeof(r)) : -ENOMEM;

	if (!err)
		err = r.err;
	if (!err)
		err = receive(fd, marks, x->nrefs + x->sel.ntasks);
	if (!err) {
		x->result.tables += r.result.tables;
		x->result.rows += r.result.rows;
		x->result.damaged += r.result.damaged;
		for (unsigned i = 0; i < x->nrefs; i++)
			x->lacks[i] |= marks[i];
		for (unsigned i = 0; i < x->sel.ntasks; i++)
			x->found[i] |= marks[x->nrefs + i];
	}
	free(marks);
	return err;
}

/* A helper's JSON objects begin with a comma. */
static void put_slot(struct text *t, const char *from, size_t len)
{
	size_t skip = 0;

	if (!t->begun)
		text__header(t);
	if (t->format == EXTRACT_JSON && !t->comma)
		skip = 2;
	t->comma = true;
	outbuf__mem(t->out, from + skip, len - skip);
}

/* If the process is gone, reading will say so. */
static void give_back(struct lane *l)
{
	uint8_t n = (uint8_t)++l->lent;

	lane__advance(l);
	if (n < LANE_SLOTS / 2)
		return;
	l->lent = 0;
	send(l->fd, &n, 1, MSG_NOSIGNAL);
}

/* One block, or with last the report. */
static int take_block(struct extraction *x, struct lane *l, bool last)
{
	uint32_t len;
	int err;

	while (!(err = receive(l->fd, &len, sizeof(len))) && len && len != LANE_REPORT) {
		if (len > LANE_SLOT || last)
			return -ECHILD;
		put_slot(&x->text, lane__slot(l), len);
		if (x->text.out->err)
			return 0;
		give_back(l);
	}
	if (err || !len)
		return err;
	err = take_report(x, l->fd); /* before its time: it failed */
	return err || last ? err : -ECHILD;
}

/* From whoever has it. */
static int collect_block(struct extraction *x, const struct order *o, unsigned b)
{
	struct helper *h = &x->helpers->v[b % o->nprocs];
	int err;

	if (b % o->nprocs < x->helpers->first)
		return extract__block(x, o, b);
	err = take_block(x, &h->lane, false);
	if (err == -ECHILD)
		guard__beside_failed(&h->process);
	return err;
}

static int collect(struct extraction *x, const struct order *o)
{
	unsigned blocks = (x->nrefs + o->block - 1) / o->block;
	int err = 0;

	for (unsigned b = 0; !err && !x->text.out->err && b < blocks; b++) {
		err = collect_block(x, o, b);
		progress__at(&x->progress, (uint64_t)(b + 1) * o->block);
	}
	for (unsigned k = x->helpers->first; !err && !x->text.out->err && k < o->nprocs; k++) {
		struct helper *h = &x->helpers->v[k];

		err = take_block(x, &h->lane, true);
		if (err == -ECHILD)
			guard__beside_failed(&h->process);
	}
	return err;
}

/* In nodes. What its text will take is guessed by what its node takes in the file. */
static unsigned block_size(const struct extraction *x, unsigned nprocs)
{
	const uint64_t bytes = file_bytes(x);
	uint64_t fair = x->nrefs / (4 * nprocs), most = BLOCK_MAX;

	if (!x->opt->totals)
		most = bytes ? BLOCK_BYTES * (uint64_t)x->r->nnodes / bytes : 1;
	most = most < BLOCK_MAX ? most : BLOCK_MAX;
	fair = fair < most ? fair : most;
	return fair ? (unsigned)fair : 1;
}

int extract__block(struct extraction *x, const struct order *o, unsigned b)
{
	int err = 0;

	for (unsigned i = b * o->block; !err && i < (b + 1) * o->block && i < x->nrefs; i++)
		err = extract__node(x, i);
	return err;
}

/* Who has died does not get it, which is seen when it does not answer. */
static int give_orders(struct extraction *x, struct order *o)
{
	static const uint8_t begins = LANE_ORDER;
	struct wire w = {0};

	for (unsigned k = x->helpers->first; k < o->nprocs; k++) {
		const int fd = x->helpers->v[k].lane.fd;

		o->which = k;
		wire__begin(&w);
		wire__put(&w, o, sizeof(*o));
		wire__put_text(&w, x->wanted);
		for (unsigned i = 0; i < x->plan.n; i++)
			wire__put_text(&w, x->plan.v[i]);
		if (w.bad)
			break;
		if (!send_fully(fd, &begins, 1))
			wire__send_socket(fd, &w);
	}
	free(w.p);
	return w.bad ? -ENOMEM : 0;
}

int extract__together(struct extraction *x)
{
	struct order o = {
		.nrefs = x->nrefs,
		.ncols = x->plan.n,
		.grouped = x->grouped,
		.last = x->last,
	};
	const unsigned n = x->helpers->n;
	int err;

	o.nprocs = n < x->nrefs ? n : x->nrefs;
	o.block = block_size(x, o.nprocs);
	outbuf__flush(x->text.out);
	err = give_orders(x, &o);
	if (!err)
		err = collect(x, &o);
	if (err)
		extract__dismiss_helpers(x, false);
	return err;
}
