/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides what rests. */
#include "daemon/budget/budget.h"

#include <math.h>
#include <string.h>

#include "bpf/abi/family.h"

/* A burst may use the budget of so many seconds at once: of programs, which jobs pay for at once,
 * and of everything, as a file is written within a second and then for minutes not. */
#define PROBES_SAVED_S 20
#define ALL_SAVED_S    60
#define SPENT_PART     0.75 /* of these, after a step: what is too much is soon seen */

#define WAIT_LEAST_S 30
#define WAIT_MOST_S  1800
#define RELAPSE_S    120 /* it was too early */
#define FORGOTTEN_S  600

#define SMOOTH_S 10

#define ROOM_PART  0.9 /* of the budget: what is to be used after a step down */
#define CALM_PART  0.7 /* of the budget: what is to be used after a step up, at most */
#define WORTH_PART 0.1 /* of the excess: what saves less does not rest for that */

const struct budget_info budget_infos[BUDGET_PARTS] = {
	[BUDGET_STACKS] = {"stacks and samples", "samples", FAM_STACK | FAM_SAMPLE | FAM_FOLD, 1},
	[BUDGET_CULPRITS] = {"culprits", "culprits", FAM_CULPRIT, 1},
	[BUDGET_WAITS] = {"wait causes", "waits", FAM_WAIT, 1},
	[BUDGET_HISTOGRAMS] = {"histograms", "histograms", FAM_LATENCY | FAM_BURST, 1},
	[BUDGET_BIRTHS] = {"births of processes", "births", JP_REST_BIRTHS, 1},
	[BUDGET_NETWORK] = {"network counters", "network", FAM_NETWORK, 2},
	[BUDGET_DISKS] = {"disk counters", "disks", FAM_BLOCK, 2},
	[BUDGET_FILES] = {"file counters", "files", FAM_FILES, 2},
	[BUDGET_SWITCHES] = {"counting at switches", "switches", FAM_SCHED, 2},
	[BUDGET_ROWS] = {"frequent rows", "rows", 0, 5},
};

static bool is_sampled(const struct budget *b, enum budget_part p)
{
	return budget_infos[p].levels == 2 && b->level[p] == 1;
}

bool budget__samples(const struct budget *b)
{
	for (int p = 0; p < BUDGET_PARTS; p++)
		if (is_sampled(b, p))
			return true;
	return false;
}

unsigned budget__resting(const struct budget *b, bool on)
{
	unsigned families = 0;

	for (int p = 0; p < BUDGET_PARTS; p++)
		if (b->level[p] && !(on && is_sampled(b, p)))
			families |= budget_infos[p].families;
	return families;
}

void budget__init(struct budget *b, double percent)
{
	*b = (struct budget){.percent = percent,
			     .wait_s = WAIT_LEAST_S,
			     .since_up_s = INFINITY,
			     .since_down_s = INFINITY};
}

/* The part of a part's cost that it has at a level. */
static double share_at(enum budget_part p, unsigned level)
{
	if (p == BUDGET_ROWS)
		return pow(0.5, level);
	if (!level)
		return 1;
	return budget_infos[p].levels == 2 && level == 1 ? 1.0 / BUDGET_EVERY : 0;
}

/* CPUs that it saves to change the part's level. */
static double saved_by(const struct budget *b, const struct budget_use *u, enum budget_part p,
		       int change)
{
	double full = u->full_s[p] / u->s, at = share_at(p, b->level[p]);

	return isnan(full) ? 0 : full * (at - share_at(p, b->level[p] + (unsigned)change));
}

static bool can_go_down(const struct budget *b, enum budget_part p, unsigned to)
{
	/* counters are all sampled before one is not counted, and rows are the last */
	return b->level[p] + 1 == to && to <= budget_infos[p].levels;
}

/* What only the program of switches sees, or is counted by what a process gets at its birth, rests
 * before. */
static void rest_before(struct budget *b, const struct budget_use *u, enum budget_part p)
{
	if (p != BUDGET_BIRTHS && p != BUDGET_SWITCHES)
		return;
	for (int i = p == BUDGET_BIRTHS ? BUDGET_STACKS : BUDGET_CULPRITS; i <= BUDGET_HISTOGRAMS;
	     i++)
		if (u->full_s[i] > 0)
			b->level[i] = 1;
}

/* Steps down by what is worth it, in order, until the rest fits. Returns the CPUs that it saves. */
static double rest_in_order(struct budget *b, const struct budget_use *u, double excess,
			    double worth)
{
	double saved = 0;

	for (unsigned to = 1; to <= 2; to++)
		for (int p = 0; p < BUDGET_ROWS && saved < excess; p++) {
			double by = can_go_down(b, p, to) ? saved_by(b, u, p, 1) : 0;

			if (by <= worth)
				continue;
			rest_before(b, u, p);
			b->level[p]++;
			saved += by;
		}
	while (saved < excess && b->level[BUDGET_ROWS] < budget_infos[BUDGET_ROWS].levels) {
		double by = saved_by(b, u, BUDGET_ROWS, 1);

		if (by <= worth)
			break;
		b->level[BUDGET_ROWS]++;
		saved += by;
	}
	return saved;
}

/* CPUs that it would save if all rested. */
static double all_savings(const struct budget *b, const struct budget_use *u)
{
	double saved = 0;

	for (int p = 0; p < BUDGET_PARTS; p++)
		saved += saved_by(b, u, p, (int)(budget_infos[p].levels - b->level[p]));
	return saved;
}

static bool step_down(struct budget *b, const struct budget_use *u)
{
	double excess = b->cost - ROOM_PART * b->allowed, saved;

	if (!(excess > 0)) /* it was exceeded, and is no more */
		return false;
	saved = rest_in_order(b, u, excess, WORTH_PART * excess);
	if (!(saved > 0) && all_savings(b, u) > WORTH_PART * excess) /* many small parts */
		saved = rest_in_order(b, u, excess, 0);
	b->short_of = !(saved > 0);
	if (b->short_of)
		return false;
	if (b->since_up_s < RELAPSE_S)
		b->wait_s = fmin(2 * b->wait_s, WAIT_MOST_S);
	b->since_down_s = 0;
	return true;
}

/* The part that rests and comes last in the order; BUDGET_PARTS: none rests. */
static enum budget_part last_resting(const struct budget *b)
{
	enum budget_part found = BUDGET_PARTS;

	for (int p = 0; p < BUDGET_PARTS; p++)
		if (b->level[p] &&
		    (found == BUDGET_PARTS || p == BUDGET_ROWS || b->level[p] >= b->level[found]))
			found = p;
	return found;
}

/* All that there is room for works again at once, in the opposite order. */
static bool step_up(struct budget *b, const struct budget_use *u)
{
	struct budget up = *b;
	enum budget_part p;

	while ((p = last_resting(&up)) < BUDGET_PARTS) {
		up.cost -= saved_by(&up, u, p, -1);
		if (up.cost > CALM_PART * b->allowed ||
		    (isnan(u->full_s[p]) && up.level[p] != b->level[p])) /* it is tried first */
			break;
		up.level[p]--;
	}
	if (!memcmp(up.level, b->level, sizeof(up.level))) {
		b->calm_s = 0;
		return false;
	}
	b->calm_s += u->s;
	if (b->calm_s < b->wait_s)
		return false;
	memcpy(b->level, up.level, sizeof(up.level));
	b->calm_s = b->since_up_s = 0;
	return true;
}

static double sum(const double *v)
{
	double s = 0;

	for (int p = 0; p < BUDGET_ROWS; p++)
		s += v[p];
	return s;
}

static void pay(struct budget *b, const struct budget_use *u)
{
	/* a node that does nothing may have as much as one with a busy CPU */
	double paid = b->percent / 100 * fmax(u->busy_s, u->s);
	double probes = sum(u->now_s) + u->fixed_s, all = probes + u->now_s[BUDGET_ROWS];
	double new = 1 - exp(-u->s / SMOOTH_S);

	if (!(b->allowed > 0)) /* the first time */
		new = 1;
	b->cost += new *(all / u->s - b->cost);
	b->allowed += new *(paid / u->s - b->allowed);
	b->probe_debt_s = fmax(b->probe_debt_s + probes - paid, 0);
	b->debt_s = fmax(b->debt_s + all - paid, 0);
	b->since_up_s += u->s;
	b->since_down_s += u->s;
	if (b->since_up_s > FORGOTTEN_S && last_resting(b) == BUDGET_PARTS)
		b->wait_s = WAIT_LEAST_S;
}

bool budget__take(struct budget *b, const struct budget_use *u)
{
	bool is_spent, changed;
	double spent_s;

	if (!(b->percent > 0) || !(u->s > 0))
		return false;
	pay(b, u);
	spent_s = SPENT_PART * PROBES_SAVED_S * b->allowed;
	is_spent = b->probe_debt_s > PROBES_SAVED_S * b->allowed ||
		   b->debt_s > ALL_SAVED_S * b->allowed;
	if (is_spent) {
		changed = step_down(b, u);
		b->calm_s = 0;
	} else {
		changed = step_up(b, u);
		b->short_of &= b->cost > b->allowed;
	}
	if (is_spent) {
		b->debt_s = fmin(b->debt_s, SPENT_PART * ALL_SAVED_S * b->allowed);
		b->probe_debt_s = fmin(b->probe_debt_s, spent_s);
	} else if (changed) { /* it is tried: jobs pay no more for that, either */
		b->probe_debt_s = fmax(b->probe_debt_s, spent_s);
	}
	if (changed) /* what it costs now is not what it cost before */
		b->cost = b->allowed = 0;
	return changed;
}
