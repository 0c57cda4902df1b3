// SPDX-License-Identifier: GPL-2.0-only
/* The weights of a split: how much each consumer did, and the cores it holds. */
#include "energy/energy_internal.h"

/* A clock further from the mean than this is a count that came late, not a clock. */
#define CLOCK_SPAN 4.0

double energy__mean_clock(const struct energy_input *in)
{
	size_t n = (size_t)in->nsteps * in->npackages;
	double cycles = 0, run = 0;

	for (size_t i = 0; i < n + in->npackages; i++) {
		const struct energy_use *u = i < n ? &in->use[i] : &in->system[i - n];

		if (isnan(u->cycles))
			continue;
		cycles += u->cycles;
		run += u->run_s;
	}
	return cycles > 0 && run > 0 ? cycles / run : NAN;
}

/* Whether cycles are known of every step that ran; those of the system need not be. */
static bool is_counted(const struct energy_work *w, unsigned package)
{
	if (isnan(w->clock))
		return false;
	for (unsigned i = 0; i < w->in->nsteps; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		if (u->run_s > 0 && isnan(u->cycles))
			return false;
	}
	return true;
}

/* The clock of a consumer, as a part of the mean. */
static double clock_of(const struct energy_use *u, double mean)
{
	if (isnan(mean) || isnan(u->cycles) || !(u->run_s > 0))
		return 1;
	return fmin(fmax(u->cycles / u->run_s / mean, 1 / CLOCK_SPAN), CLOCK_SPAN);
}

/* Cycles, in seconds at the mean clock. */
static double weight_of(const struct energy_use *u, double clock)
{
	double alone = u->run_s;

	if (!isnan(u->overlap_s))
		alone -= (1 - ENERGY_SMT) * fmin(u->overlap_s, u->run_s);
	return alone * clock;
}

struct portion_range energy__weigh(struct energy_work *w, unsigned package)
{
	const struct energy_package *pk = &w->in->package[package];
	bool cycles = is_counted(w, package);

	if (!cycles)
		w->out->weight = WEIGHT_RUN_TIME;
	for (unsigned i = 0; i < w->n; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		double clock = clock_of(u, cycles ? w->clock : NAN);

		w->p[i].weight = weight_of(u, clock);
		/* Powers were seen at usual clocks: voltage goes with it, that is its square. */
		w->p[i].busy_low_s = energy__busy(u) * fmin(clock * clock, 1);
		w->p[i].busy_high_s = energy__busy(u) * fmax(clock * clock, 1);
	}
	return (struct portion_range){.ratio = cycles ? ENERGY_RATIO : ENERGY_RATIO_RUN_TIME,
				      .pmin_w = pk->pmin_w,
				      .pmax_w = pk->pmax_w};
}

bool energy__weigh_misses(struct energy_work *w, unsigned package)
{
	const struct energy_use *system = &w->in->system[package];
	double misses = 0, run = 0;

	for (unsigned i = 0; i < w->in->nsteps; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		if (!(u->run_s > 0))
			continue;
		if (isnan(u->misses))
			return false;
		misses += u->misses;
		run += u->run_s;
	}
	for (unsigned i = 0; i < w->n; i++) {
		const struct energy_use *u = energy__use(w, i, package);

		w->p[i].weight = isnan(u->misses) ? 0 : u->misses;
	}
	if (isnan(system->misses) && run > 0)
		w->p[w->in->nsteps].weight = misses / run * system->run_s;
	return misses > 0;
}

/* Cores that a consumer holds; if not known, the cores that it kept busy. */
static double cores_held(const struct energy_work *w, unsigned consumer, unsigned package,
			 bool *known)
{
	const struct energy_use *u = energy__use(w, consumer, package);

	*known = !isnan(u->alloc_cores) || consumer == w->in->nsteps;
	if (*known)
		return isnan(u->alloc_cores) ? 0 : u->alloc_cores;
	w->out->alloc_known = false;
	return energy__busy(u) / w->in->seconds;
}

void energy__shares(struct energy_work *w, unsigned package)
{
	double cores = w->in->package[package].cores, all = 0, low = 0;
	struct consumer *unallocated = &w->t[w->n];
	bool known, every = true;

	for (unsigned i = 0; i < w->n; i++)
		all += cores_held(w, i, package, &known);
	all = fmax(all, cores);
	for (unsigned i = 0; i < w->n; i++) {
		struct consumer *t = &w->t[i];

		t->share = t->share_low = t->share_high = cores_held(w, i, package, &known) / all;
		t->share_high = known ? t->share : NAN;
		every = every && known;
		low += t->share;
	}
	unallocated->share = unallocated->share_high = fmax(1 - low, 0);
	unallocated->share_low = every ? unallocated->share : 0;
	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];

		if (isnan(t->share_high))
			t->share_high = t->share + unallocated->share;
		t->held += t->share * cores;
		t->held_low += t->share_low * cores;
		t->held_high += t->share_high * cores;
	}
	w->cores += cores;
}
