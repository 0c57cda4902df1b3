// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of tables that a step has: their columns, and when rows of them are due. */
#include "daemon/record/step_kinds.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/node/node.h"
#include "daemon/step/external_series.h"
#include "sample/cpu_busy.h"

/* No instant is in a second interval of that length: the last row is the only one. */
#define AT_END_NS UINT64_MAX

_Static_assert(COUNTED_KINDS <= SENSOR_SERIES_FIRST, "series of the journal");

const struct step_kind step_kinds[ALL_KINDS] = {
	[KIND_TASKS] = {"Tasks", FREQ_TASK, KIND_TASKS, READ_TOTALS, 0},
	[KIND_STEP] = {"Step", FREQ_STEP, KIND_STEP, READ_TOTALS, 0},
	[KIND_RUN_LATENCY] = {"RunLatency", FREQ_LATENCY, KIND_RUN_LATENCY, READ_HIST, HIST_RUN},
	[KIND_BLK_LATENCY] = {"BlkLatency", FREQ_LATENCY, KIND_BLK_LATENCY, READ_HIST, HIST_BLK},
	[KIND_RANKS] = {"Ranks", FREQ_TASK, KIND_RANKS, READ_TOTALS, 0},
	[KIND_COMMANDS] = {"Commands", FREQ_TASK, KIND_COMMANDS, READ_TOTALS, 0},
	[KIND_TIME_BUDGET] = {"TimeBudget", FREQ_TASK, KIND_TASKS, READ_TOTALS, 0},
	[KIND_RANK_BUDGET] = {"RankBudget", FREQ_TASK, KIND_RANKS, READ_TOTALS, 0},
	[KIND_CULPRITS] = {"Culprits", FREQ_TASK, KIND_TASKS, READ_TOTALS, 0},
	[KIND_RANK_CULPRITS] = {"RankCulprits", FREQ_TASK, KIND_RANKS, READ_TOTALS, 0},
	[KIND_SAMPLES] = {"Samples", FREQ_TASK, KIND_TASKS, READ_TOTALS, 0},
	[KIND_RANK_SAMPLES] = {"RankSamples", FREQ_TASK, KIND_RANKS, READ_TOTALS, 0},
	[KIND_STACKS] = {"Stacks", FREQ_TASK, KIND_STACKS, READ_TOTALS, 0},
	[KIND_CALL_TREE] = {"CallTree", FREQ_TASK, KIND_CALL_TREE, READ_TOTALS, 0},
	[KIND_BURSTS] = {"Bursts", FREQ_TASK, KIND_BURSTS, READ_TOTALS, 0},
	[KIND_BURST_LENGTH] = {"BurstLength", FREQ_TASK, KIND_BURST_LENGTH, READ_TOTALS | READ_HIST,
			       HIST_BURST},
	[KIND_GAP_LENGTH] = {"GapLength", FREQ_TASK, KIND_GAP_LENGTH, READ_TOTALS | READ_HIST,
			     HIST_BURST},
	[KIND_ENERGY] = {NULL, FREQ_ENERGY, KIND_ENERGY, READ_TOTALS, 0},
	[KIND_NETWORK] = {NULL, FREQ_NETWORK, KIND_NETWORK, READ_TOTALS, 0},
	[KIND_FILESYSTEM] = {NULL, FREQ_FILESYSTEM, KIND_FILESYSTEM, READ_TOTALS, 0},
	[KIND_NODE] = {NULL, FREQ_TASK, KIND_NODE, READ_TOTALS, 0},
};

_Static_assert(COUNTED_KINDS <= SENSOR_SERIES_FIRST, "numbers of series");

static const struct series *series_of_kind(int kind)
{
	return series__find(step_kinds[kind].name);
}

static void add_column(struct column_set *set, const struct column *c)
{
	if (set->ncols < MAX_COLUMNS)
		set->cols[set->ncols++] = c;
}

/* Replaces the events of the schema by the events that are counted. */
static void put_events(struct column_set *set, const struct step_env *env)
{
	const struct column_set all = *set;
	unsigned i, e;
	bool put = false;

	set->ncols = 0;
	for (i = 0; i < all.ncols; i++) {
		if (all.cols[i]->how != HOW_PMU) {
			add_column(set, all.cols[i]);
			continue;
		}
		for (e = 0; !put && e < env->npmu; e++)
			add_column(set, &env->pmu_cols[e]);
		put = true;
	}
}

/* Counters belong to a burst where they are read at every switch, which sampling does not do. */
static void add_burst_events(struct column_set *set, const struct step_env *env)
{
	for (unsigned e = 0; e < env->npmu; e++)
		add_column(set, &env->burst_cols[e]);
}

void step__select_columns(struct step *s, const struct step_env *env)
{
	unsigned families = s->families & ~FAM_SENSORS;
	int i;

	families |= families ? FAM_BASE : 0;
	for (i = 0; i < COUNTED_KINDS; i++) {
		s->sets[i].series = series_of_kind(i);
		s->sets[i].ncols =
			series__select(s->sets[i].series, families, s->sets[i].cols, MAX_COLUMNS);
		if (env->npmu)
			put_events(&s->sets[i], env);
	}
	if (s->sets[KIND_BURSTS].ncols && (s->families & FAM_PERF) &&
	    kern__control(env->k)->pmu_mode == JP_PMU_EXACT)
		add_burst_events(&s->sets[KIND_BURSTS], env);
}

/* Columns that the settings of an earlier daemon had and today's have not. */
static const struct column unmeasured[] = {
	[COL_U64] = {.name = "", .type = COL_U64, .how = HOW_UNKNOWN},
	[COL_F64] = {.name = "", .type = COL_F64, .how = HOW_UNKNOWN},
};

static const struct column *find_column(const struct step_env *env, int kind,
					const struct column *wanted)
{
	const struct column *events = kind == KIND_BURSTS ? env->burst_cols : env->pmu_cols;
	const struct series *s = series_of_kind(kind);
	unsigned i;

	for (i = 0; i < env->npmu; i++)
		if (!strcmp(events[i].name, wanted->name) && events[i].type == wanted->type)
			return &events[i];
	for (i = 0; i < s->ncols; i++)
		if (!strcmp(s->cols[i].name, wanted->name) && s->cols[i].type == wanted->type &&
		    s->cols[i].how != HOW_PMU)
			return &s->cols[i];
	return &unmeasured[wanted->type == COL_U64 ? COL_U64 : COL_F64];
}

int step__restore_columns(const struct step_env *env, const struct journal_record *rec,
			  struct column_set sets[COUNTED_KINDS])
{
	struct column_set *set = rec->id < COUNTED_KINDS ? &sets[rec->id] : NULL;
	unsigned i;

	if (!set || rec->ncols > MAX_COLUMNS ||
	    strcmp(series_of_kind((int)rec->id)->name, rec->name))
		return -EINVAL;
	set->series = series_of_kind((int)rec->id);
	set->ncols = rec->ncols;
	for (i = 0; i < rec->ncols; i++)
		set->cols[i] = find_column(env, (int)rec->id, &rec->cols[i]);
	return 0;
}

bool step__column_unknown(const struct step *s, const struct node *node, const char *name)
{
	if (!strcmp(name, "GPUMemMB"))
		return !node_gpus__known(node);
	return !strcmp(name, "CPUFrequency") && !cpufreq__khz(0, s->start_boot_ns);
}

/* Number of the interval an instant is in, counted on the wall clock as it was at boot0. */
static uint64_t grid_of(const struct step *s, const struct step_env *env, int kind,
			uint64_t boot_ns)
{
	if (!s->interval_ns[kind])
		return 0;
	return (env->real0_ns + (boot_ns - env->boot0_ns)) / step__interval(s, env, kind);
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
		s->interval_ns[i] =
			freq__at_end(f, step_kinds[i].freq)
				? AT_END_NS
				: (uint64_t)(freq__interval(f, step_kinds[i].freq) * NSEC_PER_SEC);
}

/* A series of which no column was asked for has no columns at all. */
bool step__has_kind(const struct step *s, int kind)
{
	bool any = kind < COUNTED_KINDS ? s->sets[kind].ncols > 0
					: s->sensors && s->families & FAM_SENSORS;

	return any && s->interval_ns[kind];
}

bool step__is_due(const struct step *s, const struct step_env *env, int kind)
{
	return step__has_kind(s, kind) &&
	       grid_of(s, env, kind, snapshot__boot_ns(env->snap)) != s->grid[kind];
}

void step__mark_written(struct step *s, const struct step_env *env, int kind)
{
	s->grid[kind] = grid_of(s, env, kind, snapshot__boot_ns(env->snap));
}

bool step__wants_sensors(const struct step *s, const struct step_env *env)
{
	for (int kind = COUNTED_KINDS; kind < ALL_KINDS; kind++)
		if (s->state == STEP_ACTIVE && step__is_due(s, env, kind))
			return true;
	return false;
}
