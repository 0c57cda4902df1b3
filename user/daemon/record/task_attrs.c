// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of tasks' and ranks' tables go to the journal. */
#include "daemon/record/task_attrs.h"

#include "daemon/step/task_about.h"

static const struct table *find_table(const struct step *s, const struct task_about *a)
{
	for (unsigned i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == a->kind && s->tables[i].gtid == a->number &&
		    s->tables[i].journaled != JOURNALED_NO)
			return &s->tables[i];
	return NULL;
}

static void put_number(struct journal *j, const struct table *t, const char *name, int v)
{
	if (v)
		journal__table_attr_i32(j, t->id, name, v);
}

/* A text that is "" is left out of the file: a process before the present one may have had one. */
static void put_all(struct journal *j, const struct table *t, const struct task_about *a)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{"Allowed CPU List", a->cpus.list},  {"Executable", a->program.path},
		{"Build Id", a->program.build_id},   {"MPI Libraries", a->libraries.mpi},
		{"GPU Libraries", a->libraries.gpu},
	};

	put_number(j, t, "Allowed CPUs", a->cpus.cpus);
	put_number(j, t, "NUMA Nodes", a->cpus.nodes);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		journal__table_attr_str(j, t->id, texts[i].name, texts[i].text);
}

void task_attrs__put(struct step *s)
{
	for (unsigned i = 0; i < s->nabout; i++) {
		const struct table *t = s->about[i].changed ? find_table(s, &s->about[i]) : NULL;

		if (t)
			put_all(s->journal, t, &s->about[i]);
	}
}

void task_attrs__written(struct step *s)
{
	for (unsigned i = 0; i < s->nabout; i++)
		if (find_table(s, &s->about[i]))
			s->about[i].changed = false;
}
