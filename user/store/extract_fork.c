/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extraction by several processes, since the library reads with one thread only. The nodes are cut
 * into blocks; process k of n takes blocks k, k + n, ... All read the file that is open already:
 * its driver has no position in it that they would share. Of few processes the first is the parent,
 * and writes its blocks out itself. A helper makes their text in memory that it has in common with
 * the parent, slot after slot. The parent writes it out from there, block after block in order:
 * text goes through no pipe, which would cost as much as making it. How many slots there are bounds
 * how far a process runs ahead: a block should not be more, or all wait for the one whose turn it
 * is. By a socket the process says how many bytes are in the next slot, 0 at the end of a block, or
 * END, which is followed by the report; the parent, now and then and in a byte, how many slots can
 * be used again.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/fully.h"
#include "base/log.h"
#include "store/extract_internal.h"
#include "store/guard.h"

#define END	    UINT32_MAX
#define SLOT_BYTES  (256u << 10)
#define SLOTS	    16u
#define BLOCK_MAX   16u		 /* nodes, ... */
#define BLOCK_BYTES (512u << 10) /* or of the file, of rows */
#define PARENT_TOO  4u /* processes; of more, writing out what they make is enough for one */

struct report {
	int err;
	struct extract_result result;
};

/* Either end. */
struct lane {
	int fd;
	char *slots;
	unsigned next; /* slot to be filled, or written out */
	unsigned lent; /* slots that the parent has, or that it has done with and not yet said so */
};

struct helper {
	pid_t pid;
	struct lane lane;
};

struct pool {
	struct helper *helpers;
	unsigned first, n; /* helpers[first] to [n - 1]; 1: the parent takes blocks too */
	unsigned block;	   /* nodes */
};

/* What ends early is a process that died. */
static int receive(int fd, void *to, size_t len)
{
	return read_fully(fd, to, len) == (ssize_t)len ? 0 : -ECHILD;
}

static void advance(struct lane *l)
{
	l->next = (l->next + 1) % SLOTS;
}

static char *slot(const struct lane *l)
{
	return l->slots + (size_t)l->next * SLOT_BYTES;
}

/* The parent gets the slot that is full; the next one may have to be waited for. */
static char *hand_slot(struct outbuf *o)
{
	struct lane *l = o->to;
	uint32_t len = (uint32_t)o->len;
	uint8_t back;

	o->err = write_fully(l->fd, &len, sizeof(len));
	if (o->err)
		return o->buf;
	advance(l);
	l->lent++;
	while (!o->err && l->lent == SLOTS) {
		ssize_t n = read(l->fd, &back, 1);

		if (n > 0)
			l->lent -= back;
		else if (!n || errno != EINTR)
			o->err = -EPIPE;
	}
	return slot(l);
}

static int make_block(struct extraction *x, const struct pool *p, unsigned b)
{
	int err = 0;

	for (unsigned i = b * p->block; !err && i < (b + 1) * p->block && i < x->nrefs; i++)
		err = extract__node(x, i);
	return err;
}

static int work(struct extraction *x, const struct pool *p, unsigned k, struct outbuf *out, int fd)
{
	static const uint32_t end_of_block;
	int err = 0;

	for (unsigned b = k; !err && !out->err && b * p->block < x->nrefs; b += p->n) {
		err = make_block(x, p, b);
		outbuf__flush(out);
		if (!err)
			err = write_fully(fd, &end_of_block, sizeof(end_of_block));
	}
	return err ? err : out->err;
}

/* Never returns. */
static void child(struct extraction *x, const struct pool *p, unsigned k, struct lane *l)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct report report = {0};
	struct outbuf out;
	uint32_t end = END;

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	x->result = (struct extract_result){0};
	x->text.begun = x->text.comma = true;
	x->text.out = &out;
	outbuf__init_lent(&out, slot(l), SLOT_BYTES, hand_slot, l);
	report.err = work(x, p, k, &out, l->fd);
	report.result = x->result;
	if (!outbuf__end(&out) && !write_fully(l->fd, &end, sizeof(end)) &&
	    !write_fully(l->fd, &report, sizeof(report)) && !write_fully(l->fd, x->lacks, x->nrefs))
		write_fully(l->fd, x->found, x->sel.ntasks);
	_exit(0);
}

/* 0 or -ECHILD with errno. */
static int start(struct extraction *x, struct pool *p, unsigned k)
{
	struct lane own = {.slots = guard__share((size_t)SLOTS * SLOT_BYTES)}, other = own;
	int fds[2];
	pid_t pid;

	if (!own.slots || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		guard__unshare(own.slots, (size_t)SLOTS * SLOT_BYTES);
		return -ECHILD;
	}
	own.fd = fds[0];
	other.fd = fds[1];
	pid = beside__fork();
	if (!pid) {
		/* The others' ends, or none of them would see the parent go. */
		for (unsigned i = p->first; i < k; i++)
			close(p->helpers[i].lane.fd);
		close(own.fd);
		child(x, p, k, &other);
	}
	close(other.fd);
	p->helpers[k] = (struct helper){pid, own};
	if (pid > 0)
		return 0;
	errno = EAGAIN;
	return -ECHILD;
}

static int take_report(struct extraction *x, int fd)
{
	struct report r;
	uint8_t *marks = calloc(x->nrefs + x->sel.ntasks + 1, 1);
	int err = marks ? receive(fd, &r, sizeof(r)) : -ENOMEM;

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
		err = r.err;
	}
	free(marks);
	return err;
}

/* A child's JSON objects begin with a comma. */
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

	advance(l);
	if (n < SLOTS / 2)
		return;
	l->lent = 0;
	send(l->fd, &n, 1, MSG_NOSIGNAL);
}

/* One block, or with last the report. */
static int take_block(struct extraction *x, struct lane *l, bool last)
{
	uint32_t len;
	int err;

	while (!(err = receive(l->fd, &len, sizeof(len))) && len && len != END) {
		if (len > SLOT_BYTES || last)
			return -ECHILD;
		put_slot(&x->text, slot(l), len);
		if (x->text.out->err)
			return 0;
		give_back(l);
	}
	if (err || !len)
		return err;
	err = take_report(x, l->fd); /* before its time: it failed */
	return err || last ? err : -ECHILD;
}

static int collect(struct extraction *x, const struct pool *p)
{
	unsigned blocks = (x->nrefs + p->block - 1) / p->block;
	int err = 0;

	for (unsigned b = 0; !err && !x->text.out->err && b < blocks; b++) {
		const unsigned k = b % p->n;

		err = k < p->first ? make_block(x, p, b)
				   : take_block(x, &p->helpers[k].lane, false);
		progress__at(&x->progress, (uint64_t)(b + 1) * p->block);
	}
	for (unsigned k = p->first; !err && !x->text.out->err && k < p->n; k++)
		err = take_block(x, &p->helpers[k].lane, true);
	return err;
}

/* Those still at work have nobody to write for any more. */
static void end(struct pool *p)
{
	for (unsigned k = p->first; p->helpers && k < p->n && p->helpers[k].pid; k++) {
		const struct helper *h = &p->helpers[k];

		close(h->lane.fd);
		guard__unshare(h->lane.slots, (size_t)SLOTS * SLOT_BYTES);
		if (h->pid < 0)
			continue;
		kill(h->pid, SIGKILL);
		while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(p->helpers);
}

/* In nodes. What its text will take is guessed by what its node takes in the file. */
static unsigned block_size(const struct extraction *x, unsigned nprocs)
{
	unsigned fair = x->nrefs / (4 * nprocs), most = BLOCK_MAX;
	struct stat st;

	if (!x->opt->totals && (stat(x->path, &st) || st.st_size <= 0))
		most = 1;
	else if (!x->opt->totals)
		most = (unsigned)(BLOCK_BYTES * (uint64_t)x->r->nnodes / (uint64_t)st.st_size);
	most = most < BLOCK_MAX ? most : BLOCK_MAX;
	fair = fair < most ? fair : most;
	return fair ? fair : 1;
}

int extract__parallel(struct extraction *x, unsigned nprocs)
{
	struct pool p = {
		.n = nprocs,
		.first = nprocs <= PARENT_TOO,
		.block = block_size(x, nprocs),
	};
	int err = 0;

	p.helpers = calloc(nprocs, sizeof(*p.helpers));
	if (!p.helpers)
		err = -ENOMEM;
	outbuf__flush(x->text.out);
	for (unsigned k = p.first; !err && k < nprocs; k++)
		err = start(x, &p, k);
	if (err == -ECHILD)
		log_error("%s: no process to help reading it: %s", x->path, strerror(errno));
	if (!err) {
		err = collect(x, &p);
		if (err == -ECHILD)
			log_error("%s: a process that helped to read it ended unexpectedly",
				  x->path);
	}
	end(&p);
	return err;
}
