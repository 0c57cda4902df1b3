/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures what the collector costs, and carries out what the budget decides. */
#include "daemon/budget/overhead.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#define LOOK_NS	      (2 * NSEC_PER_SEC)
#define STATS_NS      (NSEC_PER_SEC / 10)
#define STATS_LEAST_S 2
#define STATS_MOST_S  60
#define JUMP	      1.5 /* so much more of something, and the programs are looked at anew */
#define JUMP_LEAST    1000

#define SAMPLE_NS_ASSUMED 12000

/* Parts of a run of the program of switches, as measured (docs/performance.md); the rest is that of
 * the counters, and of being called. */
static const double of_switch[BUDGET_PARTS] = {
	[BUDGET_CULPRITS] = 0.10,
	[BUDGET_WAITS] = 0.20,
	[BUDGET_HISTOGRAMS] = 0.10,
};

/* ---- the node's counts */

struct node_counts {
	uint64_t busy_ticks, switches, forks;
};

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The first line has user nice system idle iowait irq softirq of all CPUs. */
static uint64_t busy_ticks(const char *text)
{
	unsigned long long t[7] = {0};

	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6]) != 7)
		return 0;
	return t[0] + t[1] + t[2] + t[5] + t[6];
}

static bool read_counts(struct node_counts *c)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return false;
	if (getdelim(&text, &len, '\0', f) <= 0)
		len = 0;
	fclose(f);
	if (!len)
		return false;
	*c = (struct node_counts){busy_ticks(text), number_after(text, "\nctxt "),
				  number_after(text, "\nprocesses ")};
	return c->busy_ticks > 0;
}

/* ---- statistics of the programs */

static void end_stats(struct overhead *o)
{
	if (o->stats > 0)
		close(o->stats);
	o->stats = 0;
}

static void begin_stats(struct overhead *o, const struct step_env *env, uint64_t now_ns)
{
	int n;

	o->next_stats_ns = now_ns + (uint64_t)(o->wait_stats_s * NSEC_PER_SEC);
	o->wait_stats_s = fmin(2 * o->wait_stats_s, STATS_MOST_S);
	o->stats = kern__stats_on();
	if (o->stats <= 0) {
		o->stats = 0;
		return;
	}
	n = kern__programs(env->k, o->before, OVERHEAD_PROGRAMS);
	o->nbefore = n > 0 ? (unsigned)n : 0;
	o->stats_ns = clock__boot_ns();
}

/* What the kernel does for a run before and after it, and what a run displaces from the caches;
 * less the clocks that the statistics read. */
static double beside_ns(const struct step_env *env)
{
	const struct jp_control *c = kern__control(env->k);

	return c->probe_ns && c->probe_run_ns ? (double)c->probe_ns - (double)c->probe_run_ns : 0;
}

/* The program was attached all the time: what it did is what it does. */
static void take_program(struct overhead_program *to, const struct kern_prog *before,
			 const struct kern_prog *after, double s, double beside)
{
	double runs = (double)(after->runs - before->runs);

	if (!before->attached || !after->attached || before->id != after->id)
		return;
	to->per_s = runs / s;
	if (!(runs > 0))
		return;
	to->ns = (double)(after->ns - before->ns) / runs;
	/* other load may have disturbed what was measured at the start */
	to->ns = fmax(to->ns + beside, to->ns / 2);
}

static void take_stats(struct overhead *o, const struct step_env *env)
{
	struct kern_prog after[OVERHEAD_PROGRAMS];
	int n = kern__programs(env->k, after, OVERHEAD_PROGRAMS);
	double s = (double)(clock__boot_ns() - o->stats_ns) / NSEC_PER_SEC;

	end_stats(o);
	for (int i = 0; i < n && i < (int)o->nbefore; i++) {
		take_program(&o->program[i], &o->before[i], &after[i], s, beside_ns(env));
		if (after[i].family == FAM_SCHED && !kern__resting(env->k) && o->program[i].ns > 0)
			o->switch_ns = o->program[i].ns;
		if (after[i].family == JP_REST_BIRTHS && o->program[i].ns > 0)
			o->fork_ns = o->program[i].ns;
	}
	o->stats_switches_s = o->switches_s;
	o->stats_forks_s = o->forks_s;
}

static bool has_jumped(double now, double then)
{
	return now > JUMP * then + JUMP_LEAST;
}

/* ---- what all parts use, in CPUs */

static enum budget_part part_of(unsigned family)
{
	for (int p = BUDGET_NETWORK; p <= BUDGET_FILES; p++)
		if (family & budget_infos[p].families)
			return p;
	return family & FAM_CULPRIT ? BUDGET_CULPRITS : BUDGET_PARTS;
}

/* full[]: what each part would use. Returns what the others use. */
static double add_programs(const struct overhead *o, const struct step_env *env, double *full)
{
	double fixed = 0, all = o->switches_s * (o->switch_ns > 0 ? o->switch_ns : 0) / 1e9;

	for (unsigned i = 0; i < o->nbefore; i++) {
		const struct overhead_program *p = &o->program[i];
		unsigned family = o->before[i].family;
		double cpus = p->per_s * p->ns / 1e9;

		if (family & (FAM_SCHED | JP_REST_BIRTHS | FAM_SAMPLE | FAM_STACK | FAM_FOLD))
			continue; /* below */
		if (part_of(family) < BUDGET_PARTS)
			full[part_of(family)] += cpus;
		else if (!family && o->stats_forks_s > 1)
			fixed += cpus * o->forks_s / o->stats_forks_s;
		else
			fixed += cpus;
	}
	full[BUDGET_BIRTHS] += o->forks_s * o->fork_ns / 1e9;
	full[BUDGET_SWITCHES] += all;
	for (int p = 0; p < BUDGET_SWITCHES; p++) {
		if (!(of_switch[p] > 0) || !(budget_infos[p].families & kern__families(env->k)))
			continue;
		full[p] += of_switch[p] * all;
		full[BUDGET_SWITCHES] -= of_switch[p] * all;
	}
	return fixed;
}

/* Interrupts meet jobs on busy CPUs alone. */
static double samples(const struct overhead *o, const struct step_env *env, double busy)
{
	const struct jp_control *c = kern__control(env->k);
	double ns = c->sample_ns ? (double)c->sample_ns : SAMPLE_NS_ASSUMED;

	if (!(c->families & (FAM_SAMPLE | FAM_STACK)))
		return 0;
	return busy * SAMPLE_HZ * ns / 1e9 * (c->families & FAM_FOLD ? 2 : 1) + o->stack;
}

static bool is_counted(const struct overhead *o, enum budget_part p)
{
	return !o->budget.level[p] || (budget_infos[p].levels == 2 && o->budget.level[p] == 1);
}

static struct budget_use use_of(const struct overhead *o, const struct step_env *env, double s,
				double busy_s)
{
	struct budget_use u = {.s = s, .busy_s = busy_s};
	double every;

	u.fixed_s = s * add_programs(o, env, u.full_s);
	u.full_s[BUDGET_STACKS] = samples(o, env, busy_s / s);
	u.full_s[BUDGET_ROWS] = o->own * (1u << o->budget.level[BUDGET_ROWS]);
	for (int p = 0; p < BUDGET_PARTS; p++) {
		u.full_s[p] *= s;
		every = p != BUDGET_ROWS && o->budget.level[p] == 1 ? BUDGET_EVERY : 1;
		u.now_s[p] = is_counted(o, p) ? u.full_s[p] / every : 0;
		/* nobody sees how often programs would run that are not attached */
		if (p >= BUDGET_NETWORK && p <= BUDGET_FILES && o->budget.level[p] > 1)
			u.full_s[p] = NAN;
	}
	if (o->budget.level[BUDGET_SWITCHES] && !o->on) /* what only that program sees rests too */
		for (int p = BUDGET_CULPRITS; p <= BUDGET_HISTOGRAMS; p++)
			u.now_s[p] = 0;
	u.now_s[BUDGET_ROWS] = s * o->own;
	return u;
}

/* Takes the CPU time of the daemon and its children from the last snapshot, if there is a new one.
 */
static void take_own(struct overhead *o, const struct step_env *env)
{
	uint64_t boot_ns = snapshot__boot_ns(env->snap), stack_ns = 0;
	const struct totals *self = snapshot__totals(env->snap, JP_SLOT_SELF);
	struct slots slots = snapshot__slots(env->snap);
	double ns = (double)(boot_ns - o->own_boot_ns);

	if (boot_ns == o->own_boot_ns)
		return;
	for (unsigned i = 0; i < slots.nused; i++)
		stack_ns += snapshot__totals(env->snap, slots.used[i])->v[T_STACK_NS];
	if (o->own_boot_ns) {
		o->own = (double)(self->v[T_CPU] - o->own_ns) / ns;
		o->stack = stack_ns > o->stack_ns ? (double)(stack_ns - o->stack_ns) / ns : 0;
	}
	o->own_boot_ns = boot_ns;
	o->own_ns = self->v[T_CPU];
	o->stack_ns = stack_ns;
}

/* ---- what the budget decides */

void overhead__phrase(enum budget_part part, unsigned level, char text[OVERHEAD_PHRASE])
{
	const char *name = budget_infos[part].name;

	if (!level)
		snprintf(text, OVERHEAD_PHRASE, "%s as before", name);
	else if (part == BUDGET_ROWS)
		snprintf(text, OVERHEAD_PHRASE, "a row of %u is written", 1u << level);
	else if (level < budget_infos[part].levels)
		snprintf(text, OVERHEAD_PHRASE, "%s in one row of %u", name, BUDGET_EVERY);
	else
		snprintf(text, OVERHEAD_PHRASE, "%s rest", name);
}

static void mark_steps(struct step_env *env, const char *phrase)
{
	char mark[64];

	snprintf(mark, sizeof(mark), "overhead: %s", phrase);
	for (struct step *s = *env->steps; s; s = s->next) {
		struct step_key key;

		if (s->state != STEP_ACTIVE)
			continue;
		if (!s->req) {
			step__key(s, &key);
			s->req = request__new(&key);
		}
		if (s->req)
			external_series__mark(&s->req->external, (int64_t)clock__real_ns(), mark);
	}
	env->external_rows = true;
}

static void note_change(struct overhead *o, struct step_env *env, enum budget_part p,
			uint64_t now_ns)
{
	char phrase[OVERHEAD_PHRASE];

	o->since_ns[p] = now_ns;
	o->event[o->nevents++ % OVERHEAD_EVENTS] =
		(struct overhead_event){now_ns, p, o->budget.level[p], o->percent};
	overhead__phrase(p, o->budget.level[p], phrase);
	mark_steps(env, phrase);
	log_info("the collector costs %.2g %% of the busy cores, OverheadBudget is %g %%: %s",
		 o->percent, o->budget.percent, phrase);
}

static void carry_out(struct overhead *o, struct step_env *env)
{
	env->slower = 1u << o->budget.level[BUDGET_ROWS];
	kern__rest(env->k, budget__resting(&o->budget, o->on));
}

/* What nobody has seen meanwhile is not what it was: the next row says what it is. */
static void forget_rate(struct overhead *o, enum budget_part p)
{
	for (unsigned i = 0; i < o->nbefore; i++)
		if (part_of(o->before[i].family) == p)
			o->program[i].per_s = 0;
	o->rows = 0;
}

static void decide(struct overhead *o, struct step_env *env, const struct budget_use *u,
		   uint64_t now_ns)
{
	unsigned was[BUDGET_PARTS];
	bool short_of = o->budget.short_of;

	memcpy(was, o->budget.level, sizeof(was));
	o->percent = 0;
	for (int p = 0; p < BUDGET_PARTS; p++)
		o->percent += u->now_s[p];
	o->percent = 100 * (o->percent + u->fixed_s) / fmax(u->busy_s, u->s);
	if (budget__take(&o->budget, u)) {
		for (int p = 0; p < BUDGET_PARTS; p++) {
			if (o->budget.level[p] != was[p])
				note_change(o, env, p, now_ns);
			if (p < BUDGET_ROWS && was[p] == 2 && o->budget.level[p] < 2)
				forget_rate(o, p);
		}
		carry_out(o, env);
		o->wait_stats_s = STATS_LEAST_S;
		o->next_stats_ns = now_ns;
	}
	if (o->budget.short_of && !short_of) {
		o->short_ns = now_ns;
		mark_steps(env, "nothing is left to rest");
		log_warn("the collector costs %.2g %% of the busy cores, OverheadBudget is %g %%: "
			 "nothing is left to rest; see Families, and JobAcctGatherFrequency",
			 o->percent, o->budget.percent);
	}
}

/* ---- turns */

static void look(struct overhead *o, struct step_env *env, uint64_t now_ns)
{
	double s = (double)(now_ns - o->last_ns) / NSEC_PER_SEC;
	double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct node_counts c;
	struct budget_use u;

	o->next_ns = now_ns + LOOK_NS;
	if (!read_counts(&c))
		return;
	take_own(o, env);
	if (o->last_ns) {
		o->switches_s = (double)(c.switches - o->switches) / s;
		o->forks_s = (double)(c.forks - o->forks) / s;
		u = use_of(o, env, s, (double)(c.busy_ticks - o->busy_ticks) * tick_s);
		if (o->nbefore)
			decide(o, env, &u, now_ns);
	}
	o->last_ns = now_ns;
	o->busy_ticks = c.busy_ticks;
	o->switches = c.switches;
	o->forks = c.forks;
	if (has_jumped(o->switches_s, o->stats_switches_s) ||
	    has_jumped(o->forks_s, o->stats_forks_s))
		o->next_stats_ns = now_ns;
}

static bool has_steps(const struct step_env *env)
{
	for (const struct step *s = *env->steps; s; s = s->next)
		if (s->state == STEP_ACTIVE || s->state == STEP_ENDING)
			return true;
	return false;
}

void overhead__init(struct overhead *o, double percent)
{
	*o = (struct overhead){.wait_stats_s = STATS_LEAST_S, .percent = NAN};
	budget__init(&o->budget, percent);
}

void overhead__set(struct overhead *o, struct step_env *env, double percent)
{
	struct overhead fresh;

	end_stats(o);
	overhead__init(&fresh, percent);
	memcpy(fresh.event, o->event, sizeof(fresh.event));
	fresh.nevents = o->nevents;
	*o = fresh;
	carry_out(o, env);
}

void overhead__turn(struct overhead *o, struct step_env *env, uint64_t now_ns)
{
	if (!(o->budget.percent > 0))
		return;
	if (!has_steps(env)) {
		if (o->last_ns)
			overhead__set(o, env, o->budget.percent);
		return;
	}
	if (o->stats && now_ns >= o->stats_ns + STATS_NS)
		take_stats(o, env);
	if (now_ns >= o->next_ns)
		look(o, env, now_ns);
	if (!o->stats && now_ns >= o->next_stats_ns && o->last_ns)
		begin_stats(o, env, now_ns);
}

uint64_t overhead__due(const struct overhead *o)
{
	uint64_t due = o->next_ns;

	if (!o->last_ns)
		return UINT64_MAX;
	if (o->stats)
		return o->stats_ns + STATS_NS < due ? o->stats_ns + STATS_NS : due;
	return o->next_stats_ns < due ? o->next_stats_ns : due;
}

/* What is sampled works from just before the rows of a snapshot to those of the next one. */
void overhead__before_rows(struct overhead *o, const struct step_env *env)
{
	if (!budget__samples(&o->budget) || o->on || o->rows % BUDGET_EVERY)
		return;
	o->on = true;
	kern__rest(env->k, budget__resting(&o->budget, true));
	o->next_stats_ns = 0;
}

void overhead__after_rows(struct overhead *o, const struct step_env *env)
{
	if (o->on && o->rows % BUDGET_EVERY) {
		o->on = false;
		kern__rest(env->k, budget__resting(&o->budget, false));
	}
	o->rows++;
}

/* ---- texts */

void overhead__text(const struct overhead *o, uint64_t since_ns, char *text, size_t len)
{
	unsigned first = o->nevents > OVERHEAD_EVENTS ? o->nevents - OVERHEAD_EVENTS : 0;
	char phrase[OVERHEAD_PHRASE];
	size_t at = 0;

	*text = '\0';
	for (unsigned i = first; i < o->nevents && at < len; i++) {
		const struct overhead_event *e = &o->event[i % OVERHEAD_EVENTS];

		if (e->boot_ns < since_ns)
			continue;
		overhead__phrase(e->part, e->level, phrase);
		at += (size_t)snprintf(text + at, len - at, "%safter %.1f s %s (%.2g %% of %g %%)",
				       at ? "; " : "",
				       (double)(e->boot_ns - since_ns) / NSEC_PER_SEC, phrase,
				       e->percent, o->budget.percent);
	}
}
