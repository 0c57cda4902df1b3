/* SPDX-License-Identifier: GPL-2.0-or-later */
/* J_STATE of a step's journal: what the rows of its tables are differences of. */
#include "daemon/record/step_state.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "daemon/record/record.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_tables.h"
#include "journal/zero_suppress.h"

struct saved_table {
	uint32_t id;
	uint32_t declared;
	int32_t kind, gtid;
	uint32_t counts_as;
	char name[JP_COMM_LEN];
	struct between between;
	uint64_t prev_boot_ns;
};

static uint32_t saved_shape(void)
{
	return (uint32_t)sizeof(struct saved_table) << 20 | sizeof(struct totals) << 8 | HIST_CELLS;
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

static unsigned parts_of(int kind, struct part part[PARTS])
{
	static const struct part all[PARTS] = {PART(totals), PART(hist), PART(cg)};
	const bool has[PARTS] = {step_kinds[kind].reads & READ_TOTALS,
				 step_kinds[kind].reads & READ_HIST, kind == KIND_STEP};
	unsigned n = 0;

	for (unsigned i = 0; i < PARTS; i++)
		if (has[i])
			part[n++] = all[i];
	return n;
}

/* A packed part takes no more than the part and a map for each 64 words (zero_suppress.h). */
#define SAVED_MAX                                                                            \
	(sizeof(struct saved_table) + sizeof(struct reading) + sizeof(struct reading) / 64 + \
	 PARTS * sizeof(uint64_t))

/* The state is in the frame that makes it true. */
static uint64_t *save_table(uint64_t *to, const struct table *t)
{
	const struct reading *r = t->in_frame ? t->now : t->prev;
	struct part part[PARTS];
	unsigned n = r ? parts_of(t->kind, part) : 0;
	struct saved_table h = {.id = t->id,
				.declared = t->declared.put,
				.kind = t->kind,
				.gtid = t->gtid,
				.counts_as = t->counts_as};

	if (r) {
		h.between = t->in_frame ? rows__between(&r->totals) : t->between;
		h.prev_boot_ns = r->boot_ns;
	}
	memcpy(h.name, t->name, sizeof(h.name));
	memcpy(to, &h, sizeof(h));
	to += sizeof(h) / sizeof(*to);
	for (unsigned i = 0; i < n; i++)
		to += zero_suppress__pack((const uint64_t *)((const char *)r + part[i].at),
					  part[i].len / sizeof(*to), to, SIZE_MAX);
	return to;
}

static const uint64_t *load_reading(const uint64_t *from, const uint64_t *end, int kind,
				    struct reading *to)
{
	struct part part[PARTS];
	unsigned n = parts_of(kind, part);
	size_t used;

	for (unsigned i = 0; i < n; i++, from += used) {
		size_t words = part[i].len / sizeof(*from);

		if (zero_suppress__unpack(from, end - from, (uint64_t *)((char *)to + part[i].at),
					  words, &used) < words)
			return NULL;
	}
	return from;
}

/* Where the next table begins; NULL: the state is cut off, this build has not written it, or there
 * is no memory. */
static const uint64_t *load_table(const uint64_t *from, const uint64_t *end, struct table *tables,
				  unsigned at)
{
	struct table *t = &tables[at];
	struct saved_table h;

	if ((size_t)(end - from) < sizeof(h) / sizeof(*from))
		return NULL;
	memcpy(&h, from, sizeof(h));
	from += sizeof(h) / sizeof(*from);
	if (h.kind < 0 || h.kind >= COUNTED_KINDS || h.id != at || h.counts_as > at ||
	    (h.counts_as < at && !tables[h.counts_as].prev))
		return NULL;
	t->id = h.id;
	t->declared.written = t->declared.put = h.declared > 0;
	t->kind = h.kind;
	t->gtid = h.gtid;
	t->counts_as = h.counts_as;
	str__copy(t->name, sizeof(t->name), h.name);
	t->between = h.between;
	if (step_table__make_readings(t))
		return NULL;
	if (!t->prev)
		return from;
	t->prev->boot_ns = h.prev_boot_ns;
	return load_reading(from, end, t->kind, t->prev);
}

void step__put_state(struct step *s, const struct step_env *env)
{
	struct saved *v = malloc(sizeof(*v) + s->ntables * SAVED_MAX);
	uint64_t *to;

	if (!v)
		return;
	memset(v, 0, sizeof(*v));
	v->version = STATE_VERSION;
	v->shape = saved_shape();
	v->slot = s->slot;
	v->gen = s->gen;
	v->maps_born_ns = kern__control(env->k)->born_ns;
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
	step__own_losses(s, env, v->own_losses);
	v->flags = (s->asked && !s->unanswered ? SAVED_ASKED : 0) |
		   (s->closing ? SAVED_CLOSED : 0) | (s->first_node ? SAVED_FIRST_NODE : 0);
	memcpy(v->interval_ns, s->interval_ns, sizeof(v->interval_ns));
	v->ids = s->ids;
	v->others0 = s->others0;
	cgroup_files__base(s->cg, &v->cgroup_base);
	memcpy(v->path, s->path, sizeof(v->path));
	to = (uint64_t *)(v + 1);
	for (unsigned i = 0; i < s->ntables; i++)
		to = save_table(to, &s->tables[i]);
	journal__state(s->journal, v, (char *)to - (char *)v);
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
	s->loss.since_ns = t->prev->boot_ns;
	s->loss.families |= lost & s->families;
	if (lost & FAM_BASE)
		s->loss.earlier_cpu_ns += t->prev->totals.v[T_CPU];
}

/* The tables as they were: 0, or -EBADMSG when they are not all there. */
static int restore_tables(struct step *s, const struct saved *v, size_t len, unsigned lost)
{
	const uint64_t *from = (const uint64_t *)(v + 1);
	const uint64_t *end = from + (len - sizeof(*v)) / sizeof(*from);

	if (v->ntables > JOURNAL_TABLES_MAX)
		return -EBADMSG;
	s->tables = calloc(v->ntables + 1, sizeof(struct table));
	if (!s->tables)
		return -ENOMEM;
	s->max_tables = s->ntables = v->ntables;
	for (unsigned i = 0; i < v->ntables; i++) {
		struct table *t = &s->tables[i];

		from = load_table(from, end, s->tables, i);
		if (!from)
			return -EBADMSG;
		if (!t->prev)
			continue;
		note_last_row(s, t, lost);
		/* new maps began at zero: counts in between are in no row */
		totals__forget(&t->prev->totals, lost);
		if (step_kinds[t->kind].reads & READ_HIST &&
		    lost & hist_families[step_kinds[t->kind].hist])
			memset(t->prev->hist, 0, sizeof(t->prev->hist));
	}
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
	memcpy(s->earlier_losses, v->own_losses, sizeof(s->earlier_losses));
	if (s->own_freq)
		memcpy(s->interval_ns, v->interval_ns, sizeof(s->interval_ns));
	if (!s->cg)
		s->cg = cgroup_files__new(&v->cgroup_base);
	s->others0 = v->others0;
	totals__forget(&s->others0, lost); /* those of slot 0 began at zero, too */
	s->asked = same && v->flags & SAVED_ASKED;
	s->closed = v->flags & SAVED_CLOSED;
	s->first_node = v->flags & SAVED_FIRST_NODE;
	return restore_tables(s, v, len, lost);
}
