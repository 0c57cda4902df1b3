/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a step: adds up slots per task, and stores the last reading of each table. */
#include "daemon/record/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/node/node.h"
#include "daemon/record/step_bursts.h"
#include "daemon/record/step_journal.h"
#include "daemon/record/step_kinds.h"
#include "daemon/record/step_stacks.h"
#include "daemon/record/step_state.h"
#include "daemon/record/step_tables.h"
#include "daemon/step/step.h"
#include "daemon/step/task_about.h"
#include "sample/counters.h"

/* ---- attributes of tasks' and ranks' tables go to the journal */

static const struct table *table_about(const struct step *s, const struct task_about *a)
{
	for (unsigned i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == a->kind && s->tables[i].gtid == a->number &&
		    s->tables[i].declared.put)
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

static int number_of(const struct slot_owner *owner, int kind)
{
	return step_kinds[kind].counts_as == KIND_RANKS ? owner->rank : owner->gtid;
}

/* Which slot of s->slots, from number i on, counts for the task or rank, or for the step:
 * s->nslots: none. */
static unsigned next_slot(const struct step *s, int kind, int gtid, unsigned i)
{
	while (i < s->nslots && gtid != JP_GTID_NONE && number_of(&s->slot_owners[i], kind) != gtid)
		i++;
	return i;
}

#define for_each_slot_of(i, s, kind, gtid)                              \
	for (unsigned i = next_slot(s, kind, gtid, 0); i < (s)->nslots; \
	     i = next_slot(s, kind, gtid, i + 1))

/* A task may have several slots; a rank's programs of one number share one. */
static struct lifetime lifetime_of(const struct step *s, const struct snapshot *snap,
				   const struct table *t)
{
	struct lifetime life = {};

	for_each_slot_of(i, s, t->kind, t->gtid)
	{
		const struct jp_slot *info = snapshot__slot(snap, s->slots[i]);

		if (!life.from_ns || info->start_ns < life.from_ns)
			life.from_ns = info->start_ns;
		if (info->left_ns > life.to_ns)
			life.to_ns = info->left_ns;
	}
	if (t->now->totals.v[T_THREADS])
		life.to_ns = 0;
	return life;
}

static void put_instant(const struct step *s, const struct table *t, const char *name,
			uint64_t boot_ns)
{
	journal__table_attr_i64(s->journal, t->id, name,
				(int64_t)(boot_ns - s->start_boot_ns + s->start_real_ns));
}

static void put_lifetime(const struct step *s, const struct snapshot *snap, struct table *t)
{
	if (!t->in_frame || (t->kind != KIND_TASKS && t->kind != KIND_RANKS))
		return;
	t->life_now = lifetime_of(s, snap, t);
	if (t->life_now.from_ns != t->life.from_ns)
		put_instant(s, t, "Start TimeNS", t->life_now.from_ns);
	if (t->life_now.to_ns && t->life_now.to_ns != t->life.to_ns)
		put_instant(s, t, "End TimeNS", t->life_now.to_ns);
}

/* Puts those that have changed to the frame, for tasks that have a table. */
static void task_attrs_put(struct step *s, const struct snapshot *snap)
{
	for (unsigned i = 0; i < s->ntables; i++)
		put_lifetime(s, snap, &s->tables[i]);
	for (unsigned i = 0; i < s->nabout; i++) {
		const struct table *t = s->about[i].changed ? table_about(s, &s->about[i]) : NULL;

		s->about[i].in_frame = t;
		if (t)
			put_all(s->journal, t, &s->about[i]);
	}
}

static void add_slot(const struct step_env *env, int kind, uint32_t slot, bool first,
		     struct reading *now)
{
	const struct totals *totals = snapshot__totals(env->snap, slot);
	uint64_t hist[HIST_CELLS];

	if (step_kinds[kind].reads & READ_HIST) {
		counters__hist(env->k, step_kinds[kind].hist, slot, first ? now->hist : hist);
		for (unsigned b = 0; !first && b < HIST_CELLS; b++)
			now->hist[b] += hist[b];
	}
	if (step_kinds[kind].reads & READ_TOTALS && first)
		now->totals = *totals;
	else if (step_kinds[kind].reads & READ_TOTALS)
		totals__add(&now->totals, totals);
}

/* Sums the slots of a task or rank, or of the step, without its cgroup: what that kind reads.
 * began: when the first of them began. False: there is no slot. */
static bool sum_slots(const struct step *s, const struct step_env *env, int kind, int gtid,
		      struct reading *now, uint64_t *began)
{
	now->boot_ns = snapshot__boot_ns(env->snap);
	*began = UINT64_MAX;
	for_each_slot_of(i, s, kind, gtid)
	{
		uint64_t start_ns = snapshot__slot(env->snap, s->slots[i])->start_ns;

		add_slot(env, kind, s->slots[i], *began == UINT64_MAX, now);
		if (start_ns < *began)
			*began = start_ns;
	}
	return *began != UINT64_MAX;
}

/* Takes the reading of a table's next row. began: when its slots did. False: there is none. */
static bool take_reading(struct step *s, const struct step_env *env, const struct table *t,
			 uint64_t *began)
{
	if (!sum_slots(s, env, t->kind, t->gtid, t->now, began))
		return false;
	if (t->kind == KIND_STEP)
		step__read_cgroup(s, env, &t->now->totals, t->now->cg);
	if (step_kinds[t->kind].reads & READ_TOTALS)
		totals__clamp(&t->now->totals, &t->prev->totals,
			      kern__rested(env->k, t->prev->boot_ns));
	return true;
}

/* Where no process lives, a row has the memory of those that have ended. */
static const struct reading *shown(const struct table *t, struct reading *copy)
{
	const struct totals *now = &t->now->totals;

	if (!(step_kinds[t->kind].reads & READ_TOTALS) || (now->v[T_THREADS] && totals__rss(now)))
		return t->now;
	*copy = *t->now;
	rows__use_left(&t->between, &copy->totals);
	return copy;
}

/* Fills t->last from the readings of the table of: itself, or one that has a row in this frame. */
static void fill_row(const struct step *s, const struct step_env *env, struct table *t,
		     struct table *of)
{
	const struct column_set *set = &s->sets[t->kind];
	struct row_context c = {.start_boot_ns = s->start_boot_ns,
				.start_real_ns = s->start_real_ns};
	struct reading copy;

	rows__context(&c, kern__control(env->k));
	c.rested = kern__rested(env->k, of->prev->boot_ns);
	c.gpus = snapshot__has_gpus(env->snap);
	if (of == t)
		rows__note(&t->between, &t->now->totals);
	c.peak = c.ended_rss = t->between.peak;
	if (t->peak < c.peak)
		t->peak = c.peak;
	rows__fill(&c, of->prev, shown(of, &copy), set->cols, set->ncols, t->last);
	t->last_s = (double)(of->now->boot_ns - of->prev->boot_ns) / NSEC_PER_SEC;
}

/* Counts of a slot that was freed and taken again begin at 0: the row begins no earlier than the
 * slot, or its differences would be negative. began: UINT64_MAX, of a table of no slots. */
static void put_row(struct step *s, const struct step_env *env, struct table *t, uint64_t began)
{
	struct table *of = &s->tables[t->counts_as];
	unsigned n = s->sets[t->kind].ncols;
	int err = step__declare_table(s, t);

	if (of == t && began != UINT64_MAX && began > t->prev->boot_ns)
		t->prev->boot_ns = began;
	if (!t->last)
		t->last = malloc(n * sizeof(*t->last));
	if (!err && !t->last)
		err = -ENOMEM;
	if (!err) {
		fill_row(s, env, t, of);
		err = journal__row(s->journal, t->id, t->last, n);
	}
	if (err) {
		s->frame.err = err;
		return;
	}
	s->rows++;
	t->in_frame = true;
}

static bool has_peaks(unsigned kind)
{
	return kind == KIND_TASKS || kind == KIND_STEP || kind == KIND_RANKS;
}

/* A table that gets a row of this snapshot takes the peak from the row. */
void step__watch_peak(struct step *s, const struct step_env *env, bool rows_follow)
{
	bool between[COUNTED_KINDS], any = false;
	struct reading now;
	uint64_t began;
	unsigned i;

	for (i = 0; i < COUNTED_KINDS; i++) {
		between[i] = has_peaks(i) && !(rows_follow && step__is_due(s, env, i));
		any |= between[i];
	}
	if (!any)
		return;
	step__collect_slots(s, snapshot__slots(env->snap));
	for (i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		if (!between[t->kind] || !sum_slots(s, env, t->kind, t->gtid, &now, &began))
			continue;
		rows__note(&t->between, &now.totals);
	}
}

/* A table that has no row yet counts from nothing. */
static const struct table *find_table(const struct step *s, int kind, int gtid)
{
	static struct reading nothing;
	static const struct table none = {.prev = &nothing};
	unsigned i;

	for (i = 0; i < s->ntables; i++)
		if (s->tables[i].kind == kind && s->tables[i].gtid == gtid)
			return &s->tables[s->tables[i].counts_as];
	return &none;
}

bool step__totals(struct step *s, const struct step_env *env, int kind, int gtid,
		  union cell cells[MAX_COLUMNS])
{
	const struct column_set *set = &s->sets[kind];
	const struct table *t = find_table(s, kind, gtid);
	const struct reading begin = {.boot_ns = s->start_boot_ns};
	struct row_context c = {.start_boot_ns = s->start_boot_ns,
				.start_real_ns = s->start_real_ns};
	struct between seen = t->between;
	struct reading now = {};
	uint64_t began;

	step__collect_slots(s, snapshot__slots(env->snap));
	if (!set->ncols || !sum_slots(s, env, kind, gtid, &now, &began))
		return false;
	if (kind == KIND_STEP)
		step__read_cgroup(s, env, &now.totals, now.cg);
	totals__clamp(&now.totals, &t->prev->totals, kern__rested(env->k, t->prev->boot_ns));
	rows__context(&c, kern__control(env->k));
	c.rested = kern__rested(env->k, begin.boot_ns);
	c.gpus = snapshot__has_gpus(env->snap);
	rows__note(&seen, &now.totals);
	c.peak = seen.peak > t->peak ? seen.peak : t->peak;
	c.ended_rss = seen.peak;
	rows__fill(&c, &begin, &now, set->cols, set->ncols, cells);
	return true;
}

bool step__sum(struct step *s, const struct step_env *env, struct totals *sum)
{
	const struct reading *prev = find_table(s, KIND_STEP, JP_GTID_NONE)->prev;
	struct reading now;
	uint64_t began;

	step__collect_slots(s, snapshot__slots(env->snap));
	if (!sum_slots(s, env, KIND_STEP, JP_GTID_NONE, &now, &began))
		return false;
	totals__clamp(&now.totals, &prev->totals, kern__rested(env->k, prev->boot_ns));
	*sum = now.totals;
	return true;
}

/* What the step used under a name so far, as totals. */
static struct totals command_totals(const struct step *s, const struct command_use *c)
{
	struct totals t = {};

	/* in the last row living processes are not left out */
	t.v[T_PROCESSES] = c->processes + (s->closing ? c->living : 0);
	t.v[T_CPU] = c->cpu_ns;
	t.v[T_RUN_DELAY] = c->run_delay_ns;
	t.v[T_READ_BYTES] = c->read_bytes;
	t.v[T_WRITE_BYTES] = c->write_bytes;
	t.v[T_PEAK] = c->peak;
	t.v[T_FIRST_SEEN] = c->first_seen_ns;
	t.v[T_LAST_SEEN] = c->last_seen_ns;
	return t;
}

static bool has_used(const struct totals *now, const struct totals *prev)
{
	static const enum total counters[] = {T_PROCESSES, T_CPU, T_RUN_DELAY, T_READ_BYTES,
					      T_WRITE_BYTES};
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (now->v[counters[i]] > prev->v[counters[i]])
			return true;
	return false;
}

/* A row of each program that used anything since its last one. */
static unsigned command_rows(struct step *s, const struct step_env *env)
{
	const struct command_use *c;
	unsigned n, i, rows = 0;

	c = snapshot__commands(env->snap, &n);
	for (i = 0; i < n; i++) {
		struct totals *now, *prev;
		struct table *t;

		if (c[i].step != s->slot)
			continue;
		t = step__command_table(s, c[i].name);
		if (!t || t->prev->boot_ns == snapshot__boot_ns(env->snap))
			continue;
		now = &t->now->totals;
		prev = &t->prev->totals;
		t->now->boot_ns = snapshot__boot_ns(env->snap);
		*now = command_totals(s, &c[i]);
		if (t->last && !has_used(now, prev))
			continue;
		/* of a process that has ended the kernel keeps a coarser value */
		if (now->v[T_PEAK] < prev->v[T_PEAK])
			now->v[T_PEAK] = prev->v[T_PEAK];
		totals__clamp(now, prev, 0);
		put_row(s, env, t, UINT64_MAX);
		rows++;
	}
	return rows;
}

static unsigned kind_rows(struct step *s, const struct step_env *env, int kind)
{
	uint64_t began = UINT64_MAX;
	struct table *t;
	unsigned n = 0, i;

	if (kind == KIND_COMMANDS)
		return command_rows(s, env);
	if (kind == KIND_STACKS)
		return step_stacks__rows(s, env);
	if (kind == KIND_CALL_TREE)
		return 0; /* with the stacks */
	if (kind == KIND_BURSTS)
		return step_bursts__rows(s, env);
	if (kind == KIND_STEP) {
		t = step__table(s, kind, JP_GTID_NONE);
		if (!t || !take_reading(s, env, t, &began))
			return 0;
		put_row(s, env, t, began);
		return 1;
	}
	for (i = 0; i < s->nslots; i++) {
		int gtid = number_of(&s->slot_owners[i], kind);

		t = gtid < 0 ? NULL : step__table(s, kind, gtid);
		if (!t || t->in_frame)
			continue;
		if (t->prev ? t->prev->boot_ns == snapshot__boot_ns(env->snap) ||
				      !take_reading(s, env, t, &began)
			    : !s->tables[t->counts_as].in_frame)
			continue;
		put_row(s, env, t, began);
		n++;
	}
	return n;
}

/* The step's table acknowledges ended processes at every snapshot. A task's table may be made with
 * its first row, and acknowledges them then. */
static void ack_ended(const struct step *s, struct snapshot *snap, int kind)
{
	for (unsigned i = 0; i < s->nslots; i++) {
		bool of_task = s->slot_owners[i].gtid >= 0 && step__has_kind(s, KIND_TASKS);

		if (kind == (of_task ? KIND_TASKS : KIND_STEP))
			snapshot__ack_left(snap, s->slots[i]);
	}
}

void step__rows(struct step *s, const struct step_env *env, bool all)
{
	unsigned n = 0;
	int kind;

	if (s->closed || (s->state != STEP_ACTIVE && s->state != STEP_ENDING))
		return;
	step__collect_slots(s, snapshot__slots(env->snap));
	step__begin_frame(s, env);
	for (kind = 0; kind < ALL_KINDS; kind++) {
		if (!(all ? step__has_kind(s, kind) : step__is_due(s, env, kind)))
			continue;
		n += kind < COUNTED_KINDS
			     ? kind_rows(s, env, kind)
			     : sensor_rows__put(s, env, kind, snapshot__boot_ns(env->snap));
		ack_ended(s, env->snap, kind);
		step__mark_written(s, env, kind);
	}
	if (!n)
		return;
	s->intervals++;
	task_attrs_put(s, env->snap);
	step__put_state(s, env);
	s->frame.put = n;
	if (step__commit_frame(s))
		step_bursts__written(s, env->k);
}

void step__journal_external(struct step *s, const struct step_env *env)
{
	struct external_series *g = &s->req->external;

	if (!s->req->unjournaled && !external_series__has_new(g))
		return;
	step__begin_frame(s, env);
	if (s->req->unjournaled)
		step__put_slurm_attrs(s);
	s->req->unjournaled = false;
	if (!external_series__has_new(g))
		return;
	s->frame.put = external_series__flush(g, s->journal, s->start_real_ns,
					      node_tables__allowed(s, env));
	s->req->unjournaled = !step__commit_frame(s);
}
