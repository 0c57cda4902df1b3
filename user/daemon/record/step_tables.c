// SPDX-License-Identifier: GPL-2.0-only
/* The tables of a step: they are found, made, and declared in its journal. */
#include "daemon/record/step_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

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

static struct table *new_table(struct step *s, int kind, int gtid, const char *name)
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
	str__copy(t->name, sizeof(t->name), name);
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
	return new_table(s, kind, gtid, "");
}

struct table *step__command_table(struct step *s, const char *name)
{
	for (unsigned i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == KIND_COMMANDS && !strcmp(s->tables[i].name, name))
			return &s->tables[i];
	return new_table(s, KIND_COMMANDS, JP_GTID_NONE, name);
}
