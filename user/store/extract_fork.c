/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extraction by several processes, since the library reads with one thread only. The nodes are cut
 * into blocks; process k of n takes blocks k, k + n, ... and writes their text to its pipe, which,
 * with the frame it is at, bounds how far it runs ahead: a block should not be more, or all wait
 * for the one whose turn it is. The parent puts the blocks together in order. A pipe carries
 * frames: a length and so many bytes; length 0 ends a block; END is followed by the report.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "store/extract_internal.h"

#define END	   UINT32_MAX
#define FRAME_MAX  (2u << 20)
#define PIPE_BYTES (1 << 20)
#define BLOCK_MAX  16u

struct report {
	int err;
	struct extract_result result;
};

struct helper {
	pid_t pid;
	int fd;
};

struct pool {
	struct helper *helpers;
	unsigned n;
	unsigned block;		 /* nodes */
	unsigned nsteps, nnodes; /* of the file */
	char *frame;
};

static int write_all(int fd, const void *from, size_t len)
{
	const char *p = from;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* What ends early is a process that died. */
static int read_all(int fd, void *to, size_t len)
{
	char *p = to;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECHILD;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The library would share an open file with the children, its position in it too. */
static void let_go(struct extraction *x)
{
	extract__release(x);
	totals__free(x->totals);
	cursor__free(x->cursor);
	reader__free(x->r);
	x->totals = NULL;
	x->cursor = NULL;
	x->r = NULL;
}

static int take_again(struct extraction *x, const struct pool *p)
{
	int err = reader__open(&x->r, x->path);

	if (!err)
		err = cursor__new(&x->cursor);
	if (!err)
		err = totals__new(&x->totals);
	if (!err && (x->r->nsteps != p->nsteps || x->r->nnodes != p->nnodes))
		err = -EBUSY;
	if (err && err != -EBUSY)
		log_error("%s: cannot be read again: %s", x->path, strerror(-err));
	x->text.job = !err && *x->r->job ? x->r->job : NULL;
	return err;
}

static int work(struct extraction *x, const struct pool *p, unsigned k, struct outbuf *out)
{
	static const uint32_t end_of_block;
	int err = take_again(x, p);

	for (unsigned b = k * p->block; !err && !out->err && b < x->nrefs; b += p->n * p->block) {
		for (unsigned i = b; !err && i < b + p->block && i < x->nrefs; i++)
			err = extract__node(x, i);
		outbuf__flush(out);
		if (!err)
			err = write_all(out->fd, &end_of_block, sizeof(end_of_block));
	}
	return err ? err : out->err;
}

/* Never returns. */
static void child(struct extraction *x, const struct pool *p, unsigned k, int fd)
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
	report.err = outbuf__init_framed(&out, fd, FRAME_MAX);
	if (!report.err)
		report.err = work(x, p, k, &out);
	report.result = x->result;
	if (!outbuf__end(&out) && !write_all(fd, &end, sizeof(end)) &&
	    !write_all(fd, &report, sizeof(report)) && !write_all(fd, x->lacks, x->nrefs))
		write_all(fd, x->found, x->sel.ntasks);
	_exit(0);
}

/* 0 or -ECHILD with errno. */
static int start(struct extraction *x, struct pool *p, unsigned k)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -ECHILD;
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* the more the better, and no matter if not */
	pid = fork();
	if (!pid) {
		/* The others' ends, or none of them would see the parent go. */
		for (unsigned i = 0; i < k; i++)
			close(p->helpers[i].fd);
		close(fds[0]);
		child(x, p, k, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		errno = EAGAIN;
		return -ECHILD;
	}
	p->helpers[k] = (struct helper){pid, fds[0]};
	return 0;
}

static int take_report(struct extraction *x, const struct helper *h)
{
	struct report r;
	uint8_t *marks = calloc(x->nrefs + x->sel.ntasks + 1, 1);
	int err = marks ? read_all(h->fd, &r, sizeof(r)) : -ENOMEM;

	if (!err)
		err = read_all(h->fd, marks, x->nrefs + x->sel.ntasks);
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
static void put_frame(struct text *t, const char *frame, size_t len)
{
	size_t skip = 0;

	if (!t->begun)
		text__header(t);
	if (t->format == EXTRACT_JSON && !t->comma)
		skip = 2;
	t->comma = true;
	outbuf__mem(t->out, frame + skip, len - skip);
}

/* One block, or with last the report. */
static int take_block(struct extraction *x, const struct pool *p, const struct helper *h, bool last)
{
	uint32_t len;
	int err;

	while (!(err = read_all(h->fd, &len, sizeof(len))) && len && len != END) {
		if (len > FRAME_MAX || last)
			return -ECHILD;
		err = read_all(h->fd, p->frame, len);
		if (err)
			return err;
		put_frame(&x->text, p->frame, len);
		if (x->text.out->err)
			return 0;
	}
	if (err || !len)
		return err;
	err = take_report(x, h); /* before its time: it failed */
	return err || last ? err : -ECHILD;
}

static int collect(struct extraction *x, const struct pool *p)
{
	unsigned blocks = (x->nrefs + p->block - 1) / p->block;
	int err = 0;

	for (unsigned b = 0; !err && !x->text.out->err && b < blocks; b++) {
		err = take_block(x, p, &p->helpers[b % p->n], false);
		progress__at(&x->progress, (uint64_t)(b + 1) * p->block);
	}
	for (unsigned k = 0; !err && !x->text.out->err && k < p->n; k++)
		err = take_block(x, p, &p->helpers[k], true);
	return err;
}

/* Those still at work have nobody to write for any more. */
static void end(struct pool *p)
{
	for (unsigned k = 0; p->helpers && k < p->n && p->helpers[k].pid; k++) {
		close(p->helpers[k].fd);
		kill(p->helpers[k].pid, SIGKILL);
		while (waitpid(p->helpers[k].pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(p->helpers);
	free(p->frame);
}

int extract__parallel(struct extraction *x, unsigned nprocs)
{
	struct pool p = {
		.n = nprocs,
		.block = x->nrefs / (4 * nprocs),
		.nsteps = x->r->nsteps,
		.nnodes = x->r->nnodes,
	};
	int err = 0, again;

	p.block = p.block < 1 || !x->opt->totals ? 1 : p.block > BLOCK_MAX ? BLOCK_MAX : p.block;
	p.helpers = calloc(nprocs, sizeof(*p.helpers));
	p.frame = malloc(FRAME_MAX);
	if (!p.helpers || !p.frame)
		err = -ENOMEM;
	outbuf__flush(x->text.out);
	let_go(x);
	for (unsigned k = 0; !err && k < nprocs; k++)
		err = start(x, &p, k);
	if (err == -ECHILD)
		log_error("%s: no process to help reading it: %s", x->path, strerror(errno));
	again = take_again(x, &p);
	if (!err)
		err = again;
	if (!err) {
		err = collect(x, &p);
		if (err == -ECHILD)
			log_error("%s: a process that helped to read it ended unexpectedly",
				  x->path);
	}
	end(&p);
	return err;
}
