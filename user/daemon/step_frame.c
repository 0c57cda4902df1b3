// SPDX-License-Identifier: GPL-2.0-only
/* What goes into a step's journal at once: it is there as a whole, or waits, or is left out. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/step_internal.h"

void step_settle_frame(struct step *s, bool kept)
{
	unsigned i;

	for (i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		if (t->told == TOLD_PENDING)
			t->told = kept ? TOLD_YES : TOLD_NO;
		if (t->in_frame && kept) {
			t->prev = t->now;
			t->between = rows__between(&t->prev.totals);
		}
		t->in_frame = false;
	}
	step_node__settle_frame(s->node, kept);
}

static void say_full(struct step *s, int err)
{
	if (s->full || !log_every(&s->said_full, FULL_AGAIN_S))
		return;
	log_error("%s: cannot append to the journal %s: %s: rows are left out, and the next ones "
		  "count what they would have; make room in StateDir, or see JournalUserMax",
		  s->pub.name, s->pub.journal, strerror(-err));
	s->full = true;
}

static void say_room(struct step *s)
{
	if (s->full)
		log_info("%s: its journal is written again; %llu rows were left out", s->pub.name,
			 (unsigned long long)s->lost_rows);
	s->full = false;
}

/* -EDQUOT: journals take too much, and the frame is one of those that are left out. */
static int write_frame(struct step *s)
{
	if (s->thinned && !s->closing && clock__boot_ns() < s->thin_ns)
		return -EDQUOT;
	return journal__commit(s->journal);
}

bool step_commit(struct step *s, size_t mark, unsigned rows)
{
	int err = write_frame(s);
	bool kept = !err || s->closing;

	if (err)
		say_full(s, err);
	else if (!s->thinned)
		say_room(s);
	if (!kept) {
		journal__discard(s->journal, mark);
		s->lost_rows += rows;
	}
	step_settle_frame(s, kept);
	return kept;
}

bool step__write_rest(struct step *s)
{
	if (!s->journal)
		return true;
	if (journal__commit(s->journal)) {
		s->pub.failures = 1; /* nobody waits for the file when we leave */
		return false;
	}
	if (s->full)
		s->pub.failures = 0;
	say_room(s);
	journal__free(s->journal);
	s->journal = NULL;
	return true;
}

void step__take_guests(struct step *s)
{
	struct guests *g = &s->req->guests;
	unsigned rows;
	size_t mark;

	if (s->req->news)
		step_put_told(s);
	s->req->news = false;
	if (!guests__any(g))
		return;
	mark = journal__mark(s->journal);
	rows = guests__flush(g, s->journal, s->start_real_ns);
	guests__settle(g, step_commit(s, mark, rows));
}
