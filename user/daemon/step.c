// SPDX-License-Identifier: GPL-2.0-only
/* Rows of a step: slots are added up per task, tables remember their last reading. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/step_internal.h"
#include "sample/counters.h"
#include "sensor/node/cgroup.h"

/* The series of each kind, what says how often it is sampled, and the histogram its rows are made
 * of. */
static const struct {
	const char *name;
	enum freq_name freq;
	bool is_hist;
	enum hist hist;
} kinds[ALL_KINDS] = {
	[KIND_TASKS] = {"Tasks", FREQ_TASK, false, 0},
	[KIND_STEP] = {"Step", FREQ_STEP, false, 0},
	[KIND_RUN_LATENCY] = {"RunLatency", FREQ_LATENCY, true, HIST_RUN},
	[KIND_BLK_LATENCY] = {"BlkLatency", FREQ_LATENCY, true, HIST_BLK},
	[KIND_ENERGY] = {NULL, FREQ_ENERGY, false, 0},
	[KIND_NETWORK] = {NULL, FREQ_NETWORK, false, 0},
	[KIND_FILESYSTEM] = {NULL, FREQ_FILESYSTEM, false, 0},
	[KIND_NODE] = {NULL, FREQ_TASK, false, 0},
};

/* Time between rows of a step where journals take too much. */
#define THINNED_NS (60 * NSEC_PER_SEC)

static int grow_slots(struct step *s)
{
	unsigned max = s->max_slots ? 2 * s->max_slots : 16;
	uint32_t *own = realloc(s->slots, max * sizeof(*own));
	int *gtid;

	if (!own)
		return -ENOMEM;
	s->slots = own;
	gtid = realloc(s->slot_gtids, max * sizeof(*gtid));
	if (!gtid)
		return -ENOMEM;
	s->slot_gtids = gtid;
	s->max_slots = max;
	return 0;
}

/* The slots that count for the step now: looked up once per round, walked many times. */
void step__collect_slots(struct step *s, const struct step_env *env)
{
	const uint32_t *used;
	unsigned n, i;

	s->nslots = 0;
	used = kern__used(env->k, &n);
	for (i = 0; i < n; i++) {
		uint32_t slot = used[i];
		const struct jp_slot *info = kern__slot(env->k, slot);

		if (info->step != s->slot)
			continue;
		/* still held by a task of the step that had our slot before */
		if (slot != s->slot && (info->flags & JP_SLOT_F_DONE))
			continue;
		if (s->nslots == s->max_slots && grow_slots(s))
			return;
		s->slot_gtids[s->nslots] = info->gtid;
		s->slots[s->nslots++] = slot;
	}
}

/* Number of the interval an instant is in, counted on the wall clock as it was at boot0. */
static uint64_t grid_of(const struct step *s, const struct step_env *env, int kind,
			uint64_t boot_ns)
{
	if (!s->interval_ns[kind])
		return 0;
	return (env->real0_ns + (boot_ns - env->boot0_ns)) / s->interval_ns[kind];
}

void step__set_grid(struct step *s, const struct step_env *env)
{
	uint64_t now = clock__boot_ns();
	int i;

	for (i = 0; i < ALL_KINDS; i++)
		s->grid[i] = grid_of(s, env, i, now);
}

void step__set_freq(struct step *s, const struct freq *f)
{
	int i;

	for (i = 0; i < ALL_KINDS; i++)
		s->interval_ns[i] = (uint64_t)(freq__interval(f, kinds[i].freq) * NSEC_PER_SEC);
}

struct step *step__new(const struct step_env *env, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(env->k, slot);
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->slot = slot;
	s->gen = info->gen;
	memcpy(s->path, info->path, sizeof(s->path) - 1);
	s->start_boot_ns = info->start_ns;
	s->start_real_ns = clock__real_ns() - (clock__boot_ns() - info->start_ns);
	s->clock_steps0 = env->clock_steps;
	counters__add(env->k, JP_SLOT_OTHER, &s->others0);
	s->memory_limit = NAN;
	s->state = env->families || env->can_ask ? STEP_NEW : STEP_IGNORED;
	s->families = env->families;
	step__set_freq(s, &env->freq);
	step__set_grid(s, env);
	step__select_columns(s, env);
	step__parse_path(s, env);
	s->sensors = step_sensors__new(env->node, env->families, clock__boot_ns());
	return s;
}

void step__free(struct step *s)
{
	unsigned i;

	if (!s)
		return;
	end_reason__stop(&s->end_reason);
	if (s->journal && s->state == STEP_FINISHING)
		log_error("%s: the end of its journal %s could not be written: it has no last rows",
			  s->pub.name, s->pub.journal);
	journal__free(s->journal);
	for (i = 0; i < s->ntables; i++)
		free(s->tables[i].last);
	request__free(s->req);
	cg_files__free(s->cg);
	step_sensors__free(s->sensors);
	free(s->tables);
	free(s->slots);
	free(s->slot_gtids);
	free(s->job_env);
	free(s->lineages);
	free(s);
}

/* A series none of whose columns was asked for has no columns at all. */
static bool kind_wanted(const struct step *s, int kind)
{
	bool any = kind < COUNTED_KINDS ? s->sets[kind].ncols > 0
					: s->sensors && s->families & FAM_SENSORS;

	return any && s->interval_ns[kind];
}

static int declare_table(struct step *s, struct table *t)
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
	if (declare_table(s, t))
		return NULL;
	s->ntables++;
	return t;
}

struct table *step__table(struct step *s, const struct step_env *env, int kind, int gtid)
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

/* All that counts for a task, or for the step. False: no slot of it. */
static bool sum_slots(const struct step *s, const struct step_env *env, int kind, int gtid,
		      struct reading *now, uint64_t *began)
{
	uint64_t hist[HIST_CELLS];
	bool any = false;
	unsigned i, b;

	memset(now, 0, sizeof(*now));
	*began = UINT64_MAX;
	for (i = 0; i < s->nslots; i++) {
		const struct jp_slot *info;

		if (gtid != JP_GTID_NONE && s->slot_gtids[i] != gtid)
			continue;
		any = true;
		info = kern__slot(env->k, s->slots[i]);
		if (info->start_ns < *began)
			*began = info->start_ns;
		totals__add(&now->totals, snapshot__totals(env->snap, s->slots[i]));
		if (!kinds[kind].is_hist)
			continue;
		counters__hist(env->k, kinds[kind].hist, s->slots[i], hist);
		for (b = 0; b < HIST_CELLS; b++)
			now->hist[b] += hist[b];
	}
	now->boot_ns = snapshot__boot_ns(env->snap);
	return any;
}

/* A slot that was freed and given again in the middle would run backwards: start anew there. */
static void put_row(struct step *s, const struct step_env *env, struct table *t,
		    struct reading *now, uint64_t began)
{
	const struct column_set *set = &s->sets[t->kind];
	union cell cells[MAX_COLUMNS];
	struct row_context c = {.start_boot_ns = s->start_boot_ns,
				.start_real_ns = s->start_real_ns};
	struct reading shown;

	if (t->journaled == JOURNALED_NO && declare_table(s, t))
		return;
	if (began != UINT64_MAX && began > t->prev.boot_ns)
		t->prev.boot_ns = began;
	totals__clamp(&now->totals, &t->prev.totals);
	rows__context(&c, kern__control(env->k));
	c.gpus = snapshot__has_gpus(env->snap);
	rows__note(&t->between, &now->totals);
	c.peak = c.ended_rss = t->between.peak;
	shown = *now;
	rows__use_left(&t->between, &shown.totals);
	rows__fill(&c, &t->prev, &shown, set->cols, set->ncols, cells);
	if (journal__row(s->journal, t->id, cells, set->ncols))
		return;
	s->rows++;
	if (!t->last)
		t->last = malloc(set->ncols * sizeof(*t->last));
	if (t->last)
		memcpy(t->last, cells, set->ncols * sizeof(*t->last));
	t->now = *now;
	t->in_frame = true;
}

static bool is_due(const struct step *s, const struct step_env *env, int kind)
{
	return kind_wanted(s, kind) &&
	       grid_of(s, env, kind, snapshot__boot_ns(env->snap)) != s->grid[kind];
}

/* Tables that get a row of this very snapshot see it there. */
void step__watch_peak(struct step *s, const struct step_env *env)
{
	bool between[COUNTED_KINDS], any = false;
	struct reading now;
	uint64_t began;
	unsigned i;

	for (i = 0; i < COUNTED_KINDS; i++) {
		between[i] = !kinds[i].is_hist && !is_due(s, env, i);
		any |= between[i];
	}
	if (!any)
		return;
	step__collect_slots(s, env);
	for (i = 0; i < s->ntables; i++) {
		struct table *t = &s->tables[i];

		if (!between[t->kind] || !sum_slots(s, env, t->kind, t->gtid, &now, &began))
			continue;
		rows__note(&t->between, &now.totals);
	}
}

static unsigned kind_rows(struct step *s, const struct step_env *env, int kind)
{
	struct reading now;
	struct table *t;
	uint64_t began;
	unsigned n = 0, i;

	if (kind == KIND_STEP) {
		t = step__table(s, env, kind, JP_GTID_NONE);
		if (!t || !sum_slots(s, env, kind, JP_GTID_NONE, &now, &began))
			return 0;
		step__read_cgroup(s, env, &now.totals, now.cg);
		put_row(s, env, t, &now, began);
		return 1;
	}
	for (i = 0; i < s->nslots; i++) {
		int gtid = s->slot_gtids[i];

		if (gtid < 0)
			continue;
		t = step__table(s, env, kind, gtid);
		if (!t || t->in_frame || t->prev.boot_ns == snapshot__boot_ns(env->snap) ||
		    !sum_slots(s, env, kind, gtid, &now, &began))
			continue;
		put_row(s, env, t, &now, began);
		n++;
	}
	return n;
}

const struct series *step__series(int kind)
{
	return series__find(kinds[kind].name);
}

bool step__is_hist(int kind)
{
	return kinds[kind].is_hist;
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

/* The step's table notes at every snapshot what has ended; a task's may be made with its first row
 * only, and then has noted it too. */
static void ack_ended(const struct step *s, const struct step_env *env, int kind)
{
	for (unsigned i = 0; i < s->nslots; i++) {
		bool of_task = s->slot_gtids[i] >= 0 && kind_wanted(s, KIND_TASKS);

		if (kind == (of_task ? KIND_TASKS : KIND_STEP))
			snapshot__ack_left(env->snap, s->slots[i]);
	}
}

void step__rows(struct step *s, const struct step_env *env, bool all)
{
	uint64_t now = snapshot__boot_ns(env->snap);
	uint64_t rows = s->rows;
	unsigned n = 0;
	size_t mark;
	int kind;

	if (s->state != STEP_ACTIVE && s->state != STEP_ENDING)
		return;
	step__collect_slots(s, env);
	step__find_tasks(s, env);
	step__collect_slots(s, env);
	mark = journal__mark(s->journal);
	for (kind = 0; kind < ALL_KINDS; kind++) {
		if (!(all ? kind_wanted(s, kind) : is_due(s, env, kind)))
			continue;
		n += kind < COUNTED_KINDS ? kind_rows(s, env, kind)
					  : sensor_rows__put(s, env, kind);
		ack_ended(s, env, kind);
		s->grid[kind] = grid_of(s, env, kind, now);
	}
	if (!n)
		return;
	s->intervals++;
	step__put_state(s, env);
	if (step__commit(s, mark, n))
		return;
	s->rows = rows;
	s->intervals--;
}

void step__journal_external(struct step *s)
{
	struct external_series *g = &s->req->external;
	unsigned rows;
	size_t mark;

	if (s->req->news)
		step__put_slurm_attrs(s);
	s->req->news = false;
	if (!external_series__has_new(g))
		return;
	mark = journal__mark(s->journal);
	rows = external_series__flush(g, s->journal, s->start_real_ns);
	external_series__settle_frame(g, step__commit(s, mark, rows));
}

void step__settle_sensors(struct step *s, uint64_t now_ns)
{
	if (now_ns >= step_sensors__settle_due(s->sensors))
		step_sensors__settle(s->sensors, s->families, now_ns);
}

bool step__quiet(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	step__collect_slots(s, env);
	for_each_slot(slot, s) if (kern__held(env->k, slot)) return false;
	return !kern__requests(env->k, s->slot);
}

void step__close(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	step__collect_slots(s, env);
	for_each_slot(slot, s) kern__close(env->k, slot);
	s->late_requests = kern__requests(env->k, s->slot);
	if (s->asking_env && !s->job_env) /* the answer would come too late */
		step__use_kept_env(s, env);
}

void step__release(struct step *s, const struct step_env *env)
{
	uint32_t slot;

	step__collect_slots(s, env);
	for_each_slot(slot, s) kern__release(env->k, slot);
}

bool step__wants_node(const struct step *s, const struct step_env *env)
{
	for (int kind = COUNTED_KINDS; kind < ALL_KINDS; kind++)
		if (s->state == STEP_ACTIVE && is_due(s, env, kind))
			return true;
	return false;
}

void step__last_rows(struct step *s, const struct step_env *env)
{
	s->closing = true;
	if (s->families & FAM_SENSORS)
		node__tick(env->node, *env->steps, env, snapshot__boot_ns(env->snap));
	if (s->req)
		step__journal_external(s);
	step__rows(s, env, true);
}

void step__finish(struct step *s, const struct step_env *env, const char *reason)
{
	step__put_end_attrs(s, env, reason);
	kern__set_done(env->k, s->slot);
	journal__end(s->journal);
	step__commit(s, 0, 0);
	step__write_rest(s);
	s->state = STEP_FINISHING;
}
