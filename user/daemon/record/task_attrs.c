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

/* A task may have several slots; a rank's programs of one number share one. */
static struct lifetime lifetime_of(const struct step *s, const struct kern *k,
				   const struct table *t)
{
	struct lifetime life = {};

	for (unsigned i = 0; i < s->nslots; i++) {
		const struct slot_owner *owner = &s->slot_owners[i];
		const struct jp_slot *info = kern__slot(k, s->slots[i]);

		if ((t->kind == KIND_RANKS ? owner->rank : owner->gtid) != t->gtid)
			continue;
		if (!life.from_ns || info->start_ns < life.from_ns)
			life.from_ns = info->start_ns;
		if (info->left_ns > life.to_ns)
			life.to_ns = info->left_ns;
	}
	if (t->now.totals.v[T_THREADS])
		life.to_ns = 0;
	return life;
}

static void put_instant(const struct step *s, const struct table *t, const char *name,
			uint64_t boot_ns)
{
	journal__table_attr_i64(s->journal, t->id, name,
				(int64_t)(boot_ns - s->start_boot_ns + s->start_real_ns));
}

static void put_lifetime(const struct step *s, const struct kern *k, struct table *t)
{
	if (!t->in_frame || (t->kind != KIND_TASKS && t->kind != KIND_RANKS))
		return;
	t->life_now = lifetime_of(s, k, t);
	if (t->life_now.from_ns != t->life.from_ns)
		put_instant(s, t, "Start TimeNS", t->life_now.from_ns);
	if (t->life_now.to_ns && t->life_now.to_ns != t->life.to_ns)
		put_instant(s, t, "End TimeNS", t->life_now.to_ns);
}

void task_attrs__put(struct step *s, const struct kern *k)
{
	for (unsigned i = 0; i < s->ntables; i++)
		put_lifetime(s, k, &s->tables[i]);
	for (unsigned i = 0; i < s->nabout; i++) {
		const struct table *t = s->about[i].changed ? find_table(s, &s->about[i]) : NULL;

		if (t)
			put_all(s->journal, t, &s->about[i]);
	}
}

void task_attrs__written(struct step *s)
{
	for (unsigned i = 0; i < s->ntables; i++)
		s->tables[i].life = s->tables[i].life_now;
	for (unsigned i = 0; i < s->nabout; i++)
		if (find_table(s, &s->about[i]))
			s->about[i].changed = false;
}
