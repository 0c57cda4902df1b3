// SPDX-License-Identifier: GPL-2.0-only
/* The frame of a step's journal: its tables, its write, and what becomes of it when the disk is
 * full. */
#include "daemon/step_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/sensor_rows.h"

/* Time between rows of a step where journals take too much. */
#define THINNED_NS (60 * NSEC_PER_SEC)

int step__declare_table(struct step *s, struct table *t)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "%d", t->gtid);
	err = journal__table(s->journal, t->id, t->kind, t->kind == KIND_STEP ? "Step" : name);
	if (!err)
		t->journaled = JOURNALED_PENDING;
	return err;
}

static struct table *new_table(struct step *s, int kind, int gtid)
{
	struct table *t;

	if (s->ntables == s->max_tables) {
		unsigned max = s->max_tables ? 2 * s->max_tables : 8;

		t = realloc(s->tables, max * sizeof(*t));
		if (!t)
			return NULL;
		s->tables = t;
		s->max_tables = max;
	}
	t = &s->tables[s->ntables];
	memset(t, 0, sizeof(*t));
	t->id = s->ntables;
	t->kind = kind;
	t->gtid = gtid;
	t->prev.boot_ns = s->start_boot_ns;
	if (step__declare_table(s, t))
		return NULL;
	s->ntables++;
	return t;
}

struct table *step__table(struct step *s, int kind, int gtid)
{
	unsigned i, at = s->next_table;

	for (i = 0; i < s->ntables; i++, at++) {
		struct table *t;

		if (at >= s->ntables)
			at = 0;
		t = &s->tables[at];
		if (t->kind == kind && t->gtid == gtid) {
			s->next_table = at + 1;
			return t;
		}
	}
	return new_table(s, kind, gtid);
}

void step__settle_frame(struct step *s, bool kept)
{
	unsigned i;

	for (i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		if (t->journaled == JOURNALED_PENDING)
			t->journaled = kept ? JOURNALED_YES : JOURNALED_NO;
		if (t->in_frame && kept) {
			t->prev = t->now;
			t->between = rows__between(&t->prev.totals);
		}
		t->in_frame = false;
	}
	sensor_rows__settle_frame(s->sensors, kept);
}

static void log_failure(struct step *s, int err)
{
	if (s->full || !log_every(&s->said_full, FULL_AGAIN_S))
		return;
	log_error("%s: cannot append to the journal %s: %s: rows are left out, and the next ones "
		  "count what they would have; make room in StateDir, or see JournalUserMax",
		  s->pub.name, s->pub.journal, strerror(-err));
	s->full = true;
	s->full_ns = clock__boot_ns();
}

static void log_recovery(struct step *s)
{
	if (s->full)
		log_info("%s: its journal is written again; %llu rows were left out", s->pub.name,
			 (unsigned long long)s->lost_rows);
	s->full = false;
}

/* -EDQUOT: journals take too much, and the frame is one of those that are left out. */
static int write_frame(struct step *s)
{
	uint64_t now = s->thinned ? clock__boot_ns() : 0;
	int err;

	if (s->thinned && !s->closing && now < s->thin_ns)
		return -EDQUOT;
	err = journal__commit(s->journal);
	if (!err && s->thinned)
		s->thin_ns = now + THINNED_NS;
	return err;
}

bool step__commit(struct step *s, size_t mark, unsigned rows)
{
	int err = write_frame(s);
	bool kept = !err || s->closing;

	if (err)
		log_failure(s, err);
	else if (!s->thinned)
		log_recovery(s);
	if (!kept) {
		journal__discard(s->journal, mark);
		s->lost_rows += rows;
	}
	step__settle_frame(s, kept);
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
	log_recovery(s);
	journal__free(s->journal);
	s->journal = NULL;
	return true;
}
