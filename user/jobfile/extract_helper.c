/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that helps to extract: it makes the text of some of the nodes. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/io_full.h"
#include "jobfile/extract_lane.h"
#include "pool/message.h"

/* Slots that come back until there is an order. 1: one follows; 0: slots came; -EPIPE: the parent
 * is gone. */
static int heed(struct lane *l)
{
	uint8_t said;

	if (read_fully(l->fd, &said, 1) != 1 || said > l->lent)
		return -EPIPE;
	l->lent -= said;
	return said == LANE_ORDER;
}

/* The parent gets the slot that is full; the next one may have to be waited for. */
static char *hand_slot(struct outbuf *o)
{
	struct lane *l = o->to;
	uint32_t len = (uint32_t)o->len;

	o->err = write_fully(l->fd, &len, sizeof(len));
	if (o->err)
		return o->buf;
	lane__advance(l);
	l->lent++;
	while (!o->err && l->lent == LANE_SLOTS)
		o->err = heed(l) ? -EPIPE : 0;
	return lane__slot(l);
}

/* The columns come from the one who plans; the nodes are found again. */
static int take_order(struct extraction *x, struct message *w, struct order *o)
{
	const struct order *head = message__take(w, sizeof(*head));
	const char *series = message__take_text(w);
	int err;

	if (w->bad)
		return -EBUSY;
	*o = *head;
	extract__release(x);
	x->result = (struct extract_result){0};
	err = extract__prepare(x, series);
	if (!err && x->nrefs != o->nrefs)
		err = -EBUSY;
	for (unsigned i = 0; !err && i < o->ncols; i++)
		err = plan_names__append(&x->plan, message__take_text(w));
	x->plan.begun = true;
	x->grouped = o->grouped;
	return err;
}

static int work(struct extraction *x, const struct order *o, struct lane *l, struct outbuf *out)
{
	static const uint32_t end = LANE_BLOCK;
	int err = extract__lay_out(x, out, "");

	x->text.begun = x->text.comma = true;
	for (unsigned b = 0; !err && !out->err && b < order__blocks(o); b++) {
		if (!extract__claim(x, b, o->which))
			continue;
		err = extract__block(x, o, b);
		outbuf__flush(out);
		if (!err)
			err = write_fully(l->fd, &end, sizeof(end));
	}
	return err ? err : out->err;
}

/* 0, or the parent is gone. */
static int send_report(const struct extraction *x, const struct lane *l, int result)
{
	const struct report report = {.err = result, .result = x->result};
	const uint32_t mark = LANE_REPORT;
	int err = write_fully(l->fd, &mark, sizeof(mark));

	if (!err)
		err = write_fully(l->fd, &report, sizeof(report));
	if (!err && !result)
		err = write_fully(l->fd, x->lacks, x->nrefs);
	if (!err && !result)
		err = write_fully(l->fd, x->found, x->sel.ntasks);
	return err;
}

/* Whether there is more to do. */
static bool obey(struct extraction *x, struct lane *l, struct message *w)
{
	struct outbuf out;
	struct order o;
	int err = take_order(x, w, &o);

	outbuf__init_lent(&out, lane__slot(l), LANE_SLOT, hand_slot, l);
	if (!err)
		err = work(x, &o, l, &out);
	return !outbuf__end(&out) && !send_report(x, l, err) && !err && !o.last;
}

static void forget_handlers(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
}

/* The first look at a table takes as long as some tables do. The parent has its own meanwhile, and
 * says what is wrong. */
static void look_once(struct extraction *x)
{
	if (!extract__prepare(x, x->opt->series[0]))
		extract__look(x, true);
}

/* Where it is not the file any more that the parent has opened, the parent says so. */
static int begin(struct extraction *x)
{
	int err;

	if (x->r)
		return 0;
	err = extract__begin(x);
	if (!err)
		look_once(x);
	return !err || err == -ENOMEM ? err : -EBUSY;
}

void extract__help(struct extraction *x, struct lane *l)
{
	struct message w = {0};
	bool more = true;
	int begun, said;

	forget_handlers();
	begun = begin(x);
	while (more && (said = heed(l)) >= 0) {
		if (said != 1)
			continue;
		more = message__receive(l->fd, &w) == 1 &&
		       (begun ? !send_report(x, l, begun) : obey(x, l, &w));
	}
	_exit(0);
}
