/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a step: finds and makes them, and declares them in its journal. */
#include "daemon/record/step_tables.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "daemon/record/step_kinds.h"

/* ---- J_STATE of a step's journal: what the rows of its tables are differences of */

struct saved_table {
	uint32_t id;
	uint32_t declared;
	int32_t kind, gtid;
	uint32_t like; /* the table that has the totals of this one: itself, or one before */
	char name[JP_COMM_LEN];
	struct between between;
	uint64_t prev_boot_ns;
};

static uint32_t saved_shape(void)
{
	return sizeof(struct saved_table) << 20 | sizeof(struct totals) << 8 | HIST_CELLS;
}

/* Parts of a table after its head: where they are in a reading, and how long. */
struct part {
	size_t at, len;
};

#define PART(field)                                                                   \
	{                                                                             \
		offsetof(struct reading, field), sizeof(((struct reading *)0)->field) \
	}
#define PARTS 3

static unsigned parts_of(int kind, bool totals, struct part part[PARTS])
{
	static const struct part all[PARTS] = {PART(totals), PART(hist), PART(cg)};
	const bool has[PARTS] = {totals, step_kinds[kind].is_hist, kind == KIND_STEP};
	unsigned n = 0;

	for (unsigned i = 0; i < PARTS; i++)
		if (has[i])
			part[n++] = all[i];
	return n;
}

static size_t saved_bytes(int kind, bool totals)
{
	struct part part[PARTS];
	size_t bytes = 0;

	for (unsigned i = parts_of(kind, totals, part); i--;)
		bytes += part[i].len;
	return bytes;
}

/* The state is in the frame that makes it true. */
static const struct reading *reading_of(const struct table *t)
{
	return t->in_frame ? &t->now : &t->prev;
}

/* Which table before this one has its totals; itself: none. */
static unsigned find_like(const struct step *s, unsigned i, unsigned *at)
{
	const struct table *t = &s->tables[i], *main = step__main_table(s, t->kind, t->gtid, at);

	if (!main || main >= t ||
	    memcmp(&reading_of(main)->totals, &reading_of(t)->totals, sizeof(struct totals)))
		return i;
	return main - s->tables;
}

static char *save_table(char *to, const struct step *s, unsigned at, unsigned like)
{
	const struct table *t = &s->tables[at];
	const struct reading *prev = reading_of(t);
	struct part part[PARTS];
	unsigned n = parts_of(t->kind, like == at, part);
	struct saved_table h = {.id = t->id,
				.declared = t->declared.put,
				.kind = t->kind,
				.gtid = t->gtid,
				.like = like,
				.between = t->in_frame ? rows__between(&prev->totals) : t->between,
				.prev_boot_ns = prev->boot_ns};

	memcpy(h.name, t->name, sizeof(h.name));
	memcpy(to, &h, sizeof(h));
	to += sizeof(h);
	for (unsigned i = 0; i < n; to += part[i++].len)
		memcpy(to, (const char *)prev + part[i].at, part[i].len);
	return to;
}

/* Where the next table begins; NULL: the state is cut off, or this build has not written it. */
static const char *load_table(const char *from, const char *end, struct table *tables, unsigned at)
{
	struct table *t = &tables[at];
	struct part part[PARTS];
	struct saved_table h;
	unsigned n;

	if ((size_t)(end - from) < sizeof(h))
		return NULL;
	memcpy(&h, from, sizeof(h));
	from += sizeof(h);
	if (h.kind < 0 || h.kind >= COUNTED_KINDS || h.like > at ||
	    (size_t)(end - from) < saved_bytes(h.kind, h.like == at))
		return NULL;
	memset(t, 0, sizeof(*t));
	t->id = h.id;
	t->declared.written = t->declared.put = h.declared > 0;
	t->kind = h.kind;
	t->gtid = h.gtid;
	str__copy(t->name, sizeof(t->name), h.name);
	t->between = h.between;
	t->prev.boot_ns = h.prev_boot_ns;
	if (h.like < at)
		t->prev.totals = tables[h.like].prev.totals;
	n = parts_of(t->kind, h.like == at, part);
	for (unsigned i = 0; i < n; from += part[i++].len)
		memcpy((char *)&t->prev + part[i].at, from, part[i].len);
	return from;
}

void step__put_state(struct step *s, struct kern *k)
{
	size_t len = sizeof(struct saved);
	struct saved *v;
	unsigned i, at = 0;
	char *to;

	for (i = 0; i < s->ntables; i++)
		len += sizeof(struct saved_table) + saved_bytes(s->tables[i].kind, true);
	v = calloc(1, len);
	if (!v)
		return;
	v->version = STATE_VERSION;
	v->shape = saved_shape();
	v->slot = s->slot;
	v->gen = s->gen;
	v->maps_born_ns = kern__control(k)->born_ns;
	v->cgroup_id = s->cgroup_id;
	v->hier = s->hier;
	v->start_boot_ns = s->start_boot_ns;
	v->start_real_ns = s->start_real_ns;
	v->rows = s->rows;
	v->intervals = s->intervals;
	v->lost_rows = s->lost_rows;
	v->ntables = s->ntables;
	v->families = s->families;
	v->own_freq = s->own_freq;
	v->unread = s->unread;
	v->loss = s->loss;
	v->asked = s->asked && !s->unanswered;
	memcpy(v->interval_ns, s->interval_ns, sizeof(v->interval_ns));
	v->ids = s->ids;
	v->others0 = s->others0;
	cgroup_files__base(s->cg, &v->cgroup_base);
	memcpy(v->path, s->path, sizeof(v->path));
	to = (char *)(v + 1);
	for (i = 0; i < s->ntables; i++)
		to = save_table(to, s, i, find_like(s, i, &at));
	journal__state(s->journal, v, to - (char *)v);
	free(v);
}

bool step_state__fits_build(const struct saved *v)
{
	return v->version == STATE_VERSION && v->shape == saved_shape();
}

static const unsigned hist_families[] = {
	[HIST_RUN] = FAM_LATENCY, [HIST_BLK] = FAM_BLOCK, [HIST_BURST] = FAM_BURST};

static void note_last_row(struct step *s, const struct table *t, unsigned lost)
{
	if (!(lost & s->families) || t->kind != KIND_STEP)
		return;
	s->loss.since_ns = t->prev.boot_ns;
	s->loss.families |= lost & s->families;
	if (lost & FAM_BASE)
		s->loss.earlier_cpu_ns += t->prev.totals.v[T_CPU];
}

/* The tables as they were: 0, or -EBADMSG when they are not all there. */
static int restore_tables(struct step *s, const struct saved *v, size_t len, unsigned lost)
{
	const char *from = (const char *)(v + 1), *end = (const char *)v + len;

	if (v->ntables > JOURNAL_TABLES_MAX)
		return -EBADMSG;
	s->tables = calloc(v->ntables + 1, sizeof(struct table));
	if (!s->tables)
		return -ENOMEM;
	s->max_tables = v->ntables;
	for (unsigned i = 0; i < v->ntables; i++) {
		struct table *t = &s->tables[i];

		from = load_table(from, end, s->tables, i);
		if (!from)
			return -EBADMSG;
		note_last_row(s, t, lost);
		/* new maps began at zero: counts in between are in no row */
		totals__forget(&t->prev.totals, lost);
		if (step_kinds[t->kind].is_hist && lost & hist_families[step_kinds[t->kind].hist])
			memset(t->prev.hist, 0, sizeof(t->prev.hist));
	}
	s->ntables = v->ntables;
	return 0;
}

int step_state__restore(struct step *s, const struct saved *v, size_t len, unsigned lost)
{
	bool same = !(lost & FAM_BASE);
	const struct layout *row;

	s->start_boot_ns = v->start_boot_ns;
	s->start_real_ns = v->start_real_ns;
	s->rows = v->rows;
	s->intervals = v->intervals;
	s->lost_rows = v->lost_rows;
	row = s->ids.row; /* the saved one is another process's pointer */
	s->ids = v->ids;
	s->ids.row = row;
	s->families = v->families;
	s->own_freq = v->own_freq;
	s->unread = v->unread;
	s->loss = v->loss;
	if (s->own_freq)
		memcpy(s->interval_ns, v->interval_ns, sizeof(s->interval_ns));
	if (!s->cg)
		s->cg = cgroup_files__new(&v->cgroup_base);
	s->others0 = v->others0;
	totals__forget(&s->others0, lost); /* those of slot 0 began at zero, too */
	s->asked = same && v->asked;
	return restore_tables(s, v, len, lost);
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

static int main_kind(int kind)
{
	static const int of[COUNTED_KINDS] = {
		[KIND_RUN_LATENCY] = KIND_TASKS + 1,   [KIND_BLK_LATENCY] = KIND_TASKS + 1,
		[KIND_TIME_BUDGET] = KIND_TASKS + 1,   [KIND_CULPRITS] = KIND_TASKS + 1,
		[KIND_SAMPLES] = KIND_TASKS + 1,       [KIND_BURST_LENGTH] = KIND_TASKS + 1,
		[KIND_GAP_LENGTH] = KIND_TASKS + 1,    [KIND_RANK_BUDGET] = KIND_RANKS + 1,
		[KIND_RANK_CULPRITS] = KIND_RANKS + 1, [KIND_RANK_SAMPLES] = KIND_RANKS + 1,
	};

	return of[kind] - 1;
}

struct table *step__main_table(const struct step *s, int kind, int gtid, unsigned *at)
{
	int main = main_kind(kind);

	if (main < 0 || !step__has_kind(s, main))
		return NULL;
	for (unsigned i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[(*at)++ % s->ntables];

		if (t->kind == main && t->gtid == gtid)
			return t;
	}
	return NULL;
}

void step__copy_reading(struct reading *to, const struct reading *from, int kind)
{
	to->boot_ns = from->boot_ns;
	to->totals = from->totals;
	if (step_kinds[kind].is_hist)
		memcpy(to->hist, from->hist, sizeof(to->hist));
	if (kind == KIND_STEP)
		memcpy(to->cg, from->cg, sizeof(to->cg));
}

struct table *step__command_table(struct step *s, const char *name)
{
	for (unsigned i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == KIND_COMMANDS && !strcmp(s->tables[i].name, name))
			return &s->tables[i];
	return new_table(s, KIND_COMMANDS, JP_GTID_NONE, name);
}
