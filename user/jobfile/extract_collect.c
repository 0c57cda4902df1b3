/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extraction by several processes. The nodes are cut into blocks, and whoever comes first makes the
 * text of a block: one that is held up holds up little. A helper makes it in memory that it has in
 * common with the parent, slot after slot. The parent writes it out from there, block after block
 * in order: text goes through no pipe, which would cost as much as making it. How many slots there
 * are bounds how far a helper runs ahead. Of few processes the parent makes blocks too: of the one
 * whose turn it is it writes out the text as it comes, that of later ones it keeps meanwhile, up to
 * a slot of it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io_full.h"
#include "base/log.h"
#include "jobfile/extract_lane.h"
#include "pool/message.h"

#define BLOCK_MAX   16u		 /* nodes, ... */
#define BLOCK_BYTES (512u << 10) /* or of the file, of rows */
#define KEPT	    8u		 /* blocks whose turn has not come */
#define KEPT_ROOM   (64u << 10)	 /* none is begun with less room */

/* Text that is kept, one block's behind the other's. */
struct kept {
	unsigned block;
	const char *text;
	size_t len;
};

struct collection {
	struct extraction *x;
	const struct order *o;
	unsigned turn;	/* the block that is to be written out */
	unsigned next;	/* all before it have a maker */
	unsigned aside; /* the block that is made before its turn */
	struct kept kept[KEPT];
	unsigned nkept;
	char *room;
	size_t used;
	struct outbuf own; /* into that room */
	/* What the text is not written to now: meanwhile the output, or else what is kept. */
	struct outbuf *out;
	bool begun, comma;
	int err;
};

bool extract__claim(const struct extraction *x, unsigned b, unsigned k)
{
	const uint8_t maker = (uint8_t)(k + 1);
	uint8_t was = 0;

	return __atomic_compare_exchange_n(&x->helpers->makers[b], &was, maker, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	       was == maker;
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

/* A whole one, from the helper that makes it. */
static int take_helpers(struct collection *c)
{
	const struct helpers *h = c->x->helpers;
	const unsigned k = h->makers[c->turn] - 1u;
	struct helper *helper = &c->x->helpers->v[k < c->o->nprocs ? k : 0];
	int err;

	if (k < h->first || k >= c->o->nprocs) {
		log_error("%s: damaged: a process that helped to read it has overwritten what it "
			  "shares",
			  c->x->path);
		return -ECHILD;
	}
	err = take_block(c->x, &helper->lane, false);
	if (err == -ECHILD)
		pool__beside_failed(&helper->process);
	return err;
}

static bool is_kept(const struct collection *c)
{
	return c->nkept && c->kept[0].block == c->turn;
}

static void put_kept(struct collection *c)
{
	const struct kept *k = &c->kept[0];

	if (k->len)
		put_slot(&c->x->text, k->text, k->len);
	c->nkept--;
	memmove(c->kept, c->kept + 1, c->nkept * sizeof(*c->kept));
	if (!c->nkept)
		c->used = 0;
}

/* Writes out the block whose turn it is, waiting for it. */
static int take_turn(struct collection *c)
{
	int err = 0;

	if (is_kept(c))
		put_kept(c);
	else
		err = take_helpers(c);
	c->turn++;
	return err;
}

/* Whether that would not wait. */
static bool has_come(const struct collection *c)
{
	const unsigned k = c->x->helpers->makers[c->turn] - 1u;
	struct pollfd f = {.events = POLLIN};

	if (is_kept(c) || k >= c->o->nprocs)
		return is_kept(c);
	f.fd = c->x->helpers->v[k].lane.fd;
	return k >= c->x->helpers->first && poll(&f, 1, 0) == 1;
}

/* From the output to what is kept, and back. */
static void change_text(struct collection *c)
{
	struct text *t = &c->x->text;
	struct outbuf *out = t->out;
	bool begun = t->begun, comma = t->comma;

	t->out = c->out;
	t->begun = c->begun;
	t->comma = c->comma;
	c->out = out;
	c->begun = begun;
	c->comma = comma;
}

/* There is no room: those before it are waited for, and it can be written out. */
static char *make_room(struct outbuf *o)
{
	struct collection *c = o->to;
	const struct outbuf *out = c->out;

	change_text(c);
	while (!c->err && !out->err && c->turn < c->aside)
		c->err = take_turn(c);
	if (!c->err && !out->err)
		put_slot(&c->x->text, o->buf, o->len);
	o->err = c->err ? c->err : out->err;
	change_text(c);
	return o->buf;
}

static int make_aside(struct collection *c)
{
	int err;

	outbuf__init_lent(&c->own, c->room + c->used, LANE_SLOT - c->used, make_room, c);
	c->out = &c->own;
	c->begun = c->comma = true;
	change_text(c);
	err = extract__block(c->x, c->o, c->aside);
	change_text(c);
	if (err || c->err)
		return c->err ? c->err : err;
	c->kept[c->nkept++] = (struct kept){c->aside, c->own.buf, c->own.len};
	c->used += c->own.len;
	return 0;
}

/* Whether there is a block for the parent to make: c->aside. */
static bool find_block(struct collection *c)
{
	if (!c->x->helpers->first || c->nkept == KEPT || LANE_SLOT - c->used < KEPT_ROOM)
		return false;
	while (c->next < order__blocks(c->o) && !extract__claim(c->x, c->next, 0))
		c->next++;
	c->aside = c->next++;
	return c->aside < order__blocks(c->o);
}

static int make_block(struct collection *c)
{
	if (c->aside != c->turn)
		return make_aside(c);
	c->turn++;
	return extract__block(c->x, c->o, c->aside);
}

static int collect_blocks(struct collection *c)
{
	const struct outbuf *out = c->x->text.out;
	int err = 0;

	while (!err && !out->err && c->turn < order__blocks(c->o)) {
		err = !has_come(c) && find_block(c) ? make_block(c) : take_turn(c);
		progress__at(&c->x->progress, (uint64_t)c->turn * c->o->block);
	}
	return err;
}

static int collect_reports(struct collection *c)
{
	struct extraction *x = c->x;
	int err = 0;

	for (unsigned k = x->helpers->first; !err && !x->text.out->err && k < c->o->nprocs; k++) {
		struct helper *h = &x->helpers->v[k];

		err = take_block(x, &h->lane, true);
		if (err == -ECHILD)
			pool__beside_failed(&h->process);
	}
	return err;
}

static int collect(struct extraction *x, const struct order *o)
{
	struct collection c = {.x = x, .o = o, .room = malloc(LANE_SLOT)};
	int err = c.room ? collect_blocks(&c) : -ENOMEM;

	if (!err)
		err = collect_reports(&c);
	free(c.room);
	return err;
}

/* In nodes. What its text will take is guessed by what its node takes in the file. */
static unsigned block_size(const struct extraction *x, unsigned nprocs)
{
	const uint64_t bytes = extract__bytes(x);
	uint64_t fair = x->nrefs / (4 * nprocs), most = BLOCK_MAX;

	if (!x->opt->totals)
		most = bytes ? BLOCK_BYTES * (uint64_t)x->r->nnodes / bytes : 1;
	most = most < BLOCK_MAX ? most : BLOCK_MAX;
	fair = fair < most ? fair : most;
	most = x->nrefs / LANE_BLOCKS + 1; /* that many at least */
	return (unsigned)(fair > most ? fair : most);
}

int extract__block(struct extraction *x, const struct order *o, unsigned b)
{
	int err = 0;

	for (unsigned i = b * o->block; !err && i < (b + 1) * o->block && i < x->nrefs; i++)
		err = extract__node(x, i);
	return err;
}

/* A parent that makes no blocks has to know whom to wait for. */
static void settle_makers(struct extraction *x, const struct order *o)
{
	const unsigned first = x->helpers->first;

	memset(x->helpers->makers, 0, order__blocks(o));
	for (unsigned b = 0; !first && b < order__blocks(o); b++)
		x->helpers->makers[b] = (uint8_t)(b % o->nprocs + 1);
	if (first)
		extract__claim(x, 0, 0); /* which it has looked at */
}

/* Who has died does not get it, which is seen when it does not answer. */
static int give_orders(struct extraction *x, struct order *o)
{
	static const uint8_t begins = LANE_ORDER;
	struct message w = {0};

	for (unsigned k = x->helpers->first; k < o->nprocs; k++) {
		const int fd = x->helpers->v[k].lane.fd;

		o->which = k;
		message__begin(&w);
		message__put(&w, o, sizeof(*o));
		message__put_text(&w, x->wanted);
		for (unsigned i = 0; i < x->plan.n; i++)
			message__put_text(&w, x->plan.v[i]);
		if (w.bad)
			break;
		if (!send_fully(fd, &begins, 1))
			message__send_socket(fd, &w);
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
	settle_makers(x, &o);
	err = give_orders(x, &o);
	if (!err)
		err = collect(x, &o);
	if (err)
		extract__dismiss_helpers(x, false);
	return err;
}
