/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of Bursts: the kernel side reports bursts in a ring, and each of a task becomes a row. */
#include "daemon/record/step_bursts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/protocol.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_tables.h"

/* ---- A ring of the last bursts of a step, which grows to JPC_BURSTS_KEPT rows */

#define FORGET_NS (60 * NSEC_PER_SEC) /* after the last question */
#define LEAST	  1024u

static unsigned rings; /* of all steps */

static size_t row_cells(const struct recent_bursts *r)
{
	return 2 + (size_t)r->ncols;
}

static union cell *row_of(const struct recent_bursts *r, uint64_t number)
{
	return r->cells + (number - 1) % r->cap * row_cells(r);
}

void recent_bursts__free(struct recent_bursts *r)
{
	rings -= r->cap != 0;
	free(r->cells);
	r->cells = NULL;
	r->cap = 0;
}

int recent_bursts__ask(struct recent_bursts *r, unsigned ncols, uint64_t now_ns)
{
	r->asked_ns = now_ns;
	if (r->cap)
		return 0;
	if (rings >= JPC_BURSTS_STEPS)
		return -EDQUOT;
	r->ncols = ncols;
	r->cells = calloc(LEAST, row_cells(r) * sizeof(*r->cells));
	if (!r->cells)
		return -ENOMEM;
	r->cap = LEAST;
	r->first = r->rows.written + 1;
	rings++;
	return 0;
}

void recent_bursts__begin(struct recent_bursts *r, uint64_t now_ns)
{
	if (r->cap && now_ns - r->asked_ns > FORGET_NS)
		recent_bursts__free(r);
}

/* Twice the room. Without memory the oldest ones go. */
static void grow_ring(struct recent_bursts *r, uint64_t last)
{
	struct recent_bursts to = *r;

	to.cap = 2 * r->cap;
	to.cells = calloc(to.cap, row_cells(r) * sizeof(*to.cells));
	if (!to.cells)
		return;
	for (uint64_t n = last < r->cap ? 1 : last - r->cap + 1; n <= last; n++)
		memcpy(row_of(&to, n), row_of(r, n), row_cells(r) * sizeof(*r->cells));
	free(r->cells);
	*r = to;
}

void recent_bursts__add(struct recent_bursts *r, int task, const union cell *cells, unsigned ncols)
{
	uint64_t number = ++r->rows.put;
	union cell *row;

	if (!r->cap || ncols != r->ncols)
		return;
	if (number - r->first >= r->cap && r->cap < JPC_BURSTS_KEPT)
		grow_ring(r, number - 1);
	if (number - r->first >= r->cap)
		r->first = number - r->cap + 1;
	row = row_of(r, number);
	row[0].u = number;
	row[1].u = (uint64_t)task;
	memcpy(row + 2, cells, ncols * sizeof(*cells));
}

const union cell *recent_bursts__next(const struct recent_bursts *r, uint64_t *after)
{
	uint64_t n = *after >= r->first && *after <= r->rows.written ? *after + 1 : r->first;

	if (!r->cap || n > r->rows.written || *after == r->rows.written)
		return NULL;
	*after = n;
	return row_of(r, n);
}

static double seconds(uint64_t ns)
{
	return ns == JP_GAP_UNKNOWN ? NAN : (double)ns / 1e9;
}

static double count_of(const struct jp_burst *b, unsigned event)
{
	int place = kern__place_of(b->events, event);

	return place < 0 || (b->shared >> place & 1) ? NAN : (double)b->count[place];
}

static double value_of(const struct jp_burst *b, int rank, int value)
{
	switch (value) {
	case BURST_THREAD:
		return b->tid;
	case BURST_RANK:
		return rank >= 0 ? rank : NAN;
	case BURST_DURATION:
		return seconds(b->duration_ns);
	case BURST_ON_CPU:
		return seconds(b->on_cpu_ns);
	case BURST_RUN_TIME:
		return seconds(b->run_time_ns);
	case BURST_GAP:
		return seconds(b->gap_ns);
	default:
		return count_of(b, (unsigned)(value - BURST_EVENT));
	}
}

static bool put_burst(struct step *s, const struct jp_burst *b, const struct slot_owner *owner)
{
	const struct column_set *set = &s->sets[KIND_BURSTS];
	struct row_context c = {.start_boot_ns = s->start_boot_ns,
				.start_real_ns = s->start_real_ns};
	static const struct reading none;
	struct reading end = {.boot_ns = b->end_ns};
	union cell cells[MAX_COLUMNS];
	struct table *t = step__table(s, KIND_BURSTS, owner->gtid);

	if (!t || step__declare_table(s, t))
		return false;
	rows__fill(&c, &none, &end, set->cols, set->ncols, cells);
	for (unsigned i = 0; i < set->ncols; i++)
		if (set->cols[i]->how == HOW_GIVEN)
			cells[i].f = value_of(b, owner->rank, set->cols[i]->arg);
	if (journal__row(s->journal, t->id, cells, set->ncols))
		return false;
	if (s->recent)
		recent_bursts__add(s->recent, owner->gtid, cells, set->ncols);
	return true;
}

static const struct slot_owner *owner_of(const struct step *s, uint32_t slot)
{
	for (unsigned i = 0; i < s->nslots; i++)
		if (s->slots[i] == slot)
			return s->slot_owners[i].gtid >= 0 ? &s->slot_owners[i] : NULL;
	return NULL;
}

unsigned step_bursts__rows(struct step *s, const struct step_env *env)
{
	struct kern_bursts *l = kern__bursts(env->k);
	unsigned n = 0;

	if (s->recent)
		recent_bursts__begin(s->recent, clock__boot_ns());
	for (size_t i = 0; i < l->n; i++) {
		const struct slot_owner *owner =
			l->b[i].slot == JP_SLOT_NONE ? NULL : owner_of(s, l->b[i].slot);

		if (owner && put_burst(s, &l->b[i], owner))
			n++;
	}
	s->rows += n;
	return n;
}

void step_bursts__written(struct step *s, struct kern *k)
{
	struct kern_bursts *l = kern__bursts(k);

	if (!step__has_kind(s, KIND_BURSTS))
		return;
	for (size_t i = 0; i < l->n; i++)
		if (l->b[i].slot != JP_SLOT_NONE && owner_of(s, l->b[i].slot))
			l->b[i].slot = JP_SLOT_NONE;
}

/* A slot that was taken since the snapshot is resolved by the next snapshot. */
static bool is_wanted(const struct step *steps, const struct jp_slot *info)
{
	if (info->state == JP_SLOT_FREE)
		return true;
	for (; steps; steps = steps->next)
		if (steps->slot == info->step)
			return steps->state == STEP_NEW || step__has_kind(steps, KIND_BURSTS);
	return true;
}

void step_bursts__drop_others(const struct step *steps, const struct step_env *env)
{
	struct kern_bursts *l = kern__bursts(env->k);

	for (size_t i = 0; i < l->n; i++)
		if (l->b[i].slot != JP_SLOT_NONE &&
		    !is_wanted(steps, snapshot__slot(env->snap, l->b[i].slot)))
			l->b[i].slot = JP_SLOT_NONE;
}
