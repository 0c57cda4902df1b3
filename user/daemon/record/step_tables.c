/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a step: finds and makes them, and declares them in its journal. */
#include "daemon/record/step_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "daemon/record/step_kinds.h"

int step_table__make_readings(struct table *t)
{
	if (t->counts_as != t->id)
		return 0;
	t->prev = calloc(1, sizeof(*t->prev));
	t->now = calloc(1, sizeof(*t->now));
	return t->prev && t->now ? 0 : -ENOMEM;
}

void step_table__free(struct table *t)
{
	free(t->last);
	free(t->prev);
	free(t->now);
}

int step__declare_table(struct step *s, struct table *t)
{
	char name[32];
	int err;

	if (t->declared.put)
		return 0;
	if (t->kind == KIND_COMMANDS)
		str__copy(name, sizeof(name), t->name);
	else
		snprintf(name, sizeof(name), "%d", t->gtid);
	err = journal__table(s->journal, t->id, t->kind, t->kind == KIND_STEP ? "Step" : name);
	t->declared.put = !err;
	return err;
}

/* The id of the table that has the readings of such a table: its own, if no other has them. */
static uint32_t find_readings(const struct step *s, int kind, int gtid)
{
	int of = step_kinds[kind].counts_as;

	for (unsigned i = 0; of != kind && i < s->ntables; i++)
		if (s->tables[i].kind == of && s->tables[i].gtid == gtid)
			return i;
	return s->ntables;
}

static struct table *new_table(struct step *s, int kind, int gtid, const char *name)
{
	struct table *t;

	if (room__make(&s->tables, &s->max_tables, s->ntables + 1, sizeof(*s->tables)))
		return NULL;
	t = &s->tables[s->ntables];
	memset(t, 0, sizeof(*t));
	t->id = s->ntables;
	t->kind = kind;
	t->gtid = gtid;
	str__copy(t->name, sizeof(t->name), name);
	t->counts_as = find_readings(s, kind, gtid);
	if (step_table__make_readings(t) || step__declare_table(s, t)) {
		step_table__free(t);
		return NULL;
	}
	if (t->prev)
		t->prev->boot_ns = s->start_boot_ns;
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
	return new_table(s, kind, gtid, "");
}

struct table *step__command_table(struct step *s, const char *name)
{
	for (unsigned i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == KIND_COMMANDS && !strcmp(s->tables[i].name, name))
			return &s->tables[i];
	return new_table(s, KIND_COMMANDS, JP_GTID_NONE, name);
}
