// SPDX-License-Identifier: GPL-2.0-or-later
/* The node as it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/energysim/sim.h"

#define TICKS	50 /* of a second */
#define TICK	(1.0 / TICKS)
#define SYSTEM	SIM_STEPS
#define NOBODY	SIM_CONSUMERS
#define HISTORY 32 /* s that the BMC may look back */

/* Per thread at 1 V and 1 GHz; per GB; clocks in GHz. */
static const struct load {
	double switching_w; /* W / V^2 / GHz */
	double gbs;	    /* at 2.8 GHz */
	double dram_j;	    /* per GB */
	double as_misses;   /* part of traffic that counts as such: prefetches do not */
	double slower_ghz;  /* its licence */
} loads[LOAD_N] = {
	[LOAD_SPIN] = {0.45, 0.01, 0.20, 0.9, 0},    [LOAD_CHASE] = {0.50, 0.9, 0.33, 0.95, 0},
	[LOAD_INT] = {0.95, 0.15, 0.22, 0.7, 0},     [LOAD_STREAM] = {0.75, 6.0, 0.13, 0.45, 0},
	[LOAD_SCALAR] = {1.10, 0.4, 0.20, 0.6, 0},   [LOAD_AVX2] = {1.55, 1.0, 0.17, 0.5, 0.2},
	[LOAD_AVX512] = {2.10, 1.2, 0.16, 0.5, 0.6},
};

/* The values are those of this one node. */
struct silicon {
	double idle_w, core_idle_w, wake_w, uncore_j, leak, leak_s;
	double dram_idle_w, other_idle_w, loss, loss_2, fan_w, fan_s, smt, turbo, all_core;
	double v_flat, v_slope, gpu_idle_w;
	double pkg_bias[SIM_PACKAGES], dram_bias[SIM_PACKAGES], gpu_bias, node_bias;
	struct load load[SIM_STEPS];
};

struct sim {
	uint64_t state;
	struct silicon si;
	struct sim_case c;
	double heat[SIM_CONSUMERS + 1], warm[SIM_CONSUMERS + 1]; /* W, slow: of packages; of all */
	double bmc[HISTORY * TICKS];				 /* W of the node, a ring */
	uint64_t now;						 /* ticks */
	double bmc_w;
};

static uint64_t next(struct sim *s)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	s->state ^= s->state << 17;
	return s->state;
}

double sim__random(struct sim *s, double from, double to)
{
	return from + (to - from) * ((double)(next(s) >> 11) / 9007199254740992.0);
}

/* Near enough to a normal one. */
static double noise(struct sim *s, double sd)
{
	double sum = 0;

	for (unsigned i = 0; i < 12; i++)
		sum += sim__random(s, 0, 1);
	return (sum - 6) * sd;
}

static void make_silicon(struct sim *s)
{
	struct silicon *si = &s->si;

	*si = (struct silicon){.idle_w = sim__random(s, 20, 34),
			       .core_idle_w = sim__random(s, 0.1, 0.5),
			       .wake_w = sim__random(s, 5, 14),
			       .uncore_j = sim__random(s, 0.06, 0.16),
			       .leak = sim__random(s, 0.05, 0.15),
			       .leak_s = sim__random(s, 5, 12),
			       .dram_idle_w = sim__random(s, 4, 9),
			       .other_idle_w = sim__random(s, 50, 110),
			       .loss = sim__random(s, 0.03, 0.07),
			       .loss_2 = sim__random(s, 5e-5, 1.5e-4),
			       .fan_w = sim__random(s, 10, 40),
			       .fan_s = sim__random(s, 10, 30),
			       .smt = sim__random(s, 1.05, 1.4),
			       .turbo = sim__random(s, 3.3, 3.8),
			       .all_core = sim__random(s, 2.6, 3.0),
			       .v_flat = sim__random(s, 0.66, 0.74),
			       .v_slope = sim__random(s, 0.10, 0.17),
			       .gpu_idle_w = sim__random(s, 35, 60),
			       .gpu_bias = sim__random(s, -SIM_GPU_ERROR, SIM_GPU_ERROR),
			       .node_bias = sim__random(s, -SIM_NODE_ERROR, SIM_NODE_ERROR)};
	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		si->pkg_bias[p] = sim__random(s, -SIM_PKG_ERROR, SIM_PKG_ERROR);
		si->dram_bias[p] = sim__random(s, -SIM_PKG_ERROR, SIM_PKG_ERROR);
	}
}

struct sim *sim__new(uint64_t seed)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->state = seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL;
	for (unsigned i = 0; i < 20; i++)
		next(s);
	make_silicon(s);
	return s;
}

void sim__free(struct sim *s)
{
	free(s);
}

void sim__run(struct sim *s, const struct sim_case *c)
{
	s->c = *c;
	for (unsigned k = 0; k < c->nsteps; k++) {
		struct load *l = &s->si.load[k];

		*l = loads[c->step[k].load];
		l->switching_w *= sim__random(s, 0.8, 1.25);
		l->gbs *= sim__random(s, 0.7, 1.4);
		l->dram_j *= sim__random(s, 0.8, 1.25);
		l->as_misses *= sim__random(s, 0.7, 1.05);
	}
}

static bool holds(const struct sim_step *k, unsigned core)
{
	return core >= k->alloc_first && core < k->alloc_first + k->alloc_n;
}

double sim__held(const struct sim_case *c, unsigned k, unsigned p)
{
	double sum = 0;

	for (unsigned core = p * SIM_CORES; core < (p + 1) * SIM_CORES; core++) {
		unsigned sharers = 0;

		for (unsigned j = 0; j < c->nsteps; j++)
			sharers += holds(&c->step[j], core);
		if (holds(&c->step[k], core))
			sum += 1.0 / sharers;
	}
	return sum;
}

/* One core in one tick. */
struct core {
	int who[SIM_THREADS]; /* -1: nobody */
	double run[SIM_THREADS], both, ghz;
};

struct tick {
	struct core core[SIM_ALL];
	double dyn[SIM_CONSUMERS + 1][SIM_PACKAGES];  /* W */
	double dram[SIM_CONSUMERS + 1][SIM_PACKAGES]; /* W */
	double gpu[SIM_STEPS];
};

static double duty(struct sim *s, unsigned k)
{
	const struct sim_step *st = &s->c.step[k];
	double d = st->duty, at = (double)s->now * TICK;

	if (st->period > 0 && fmod(at + 0.37 * k * st->period, st->period) > st->period / 2)
		d /= 5;
	return fmin(fmax(d * (1 + noise(s, 0.03)), 0), 1);
}

static void place(struct sim *s, struct tick *t)
{
	double d[SIM_STEPS];

	for (unsigned c = 0; c < SIM_ALL; c++)
		t->core[c].who[0] = t->core[c].who[1] = -1;
	for (unsigned k = 0; k < s->c.nsteps; k++) {
		const struct sim_step *st = &s->c.step[k];

		d[k] = duty(s, k);
		for (unsigned c = st->first; c < st->first + st->ncores; c++)
			for (unsigned h = 0; h < SIM_THREADS; h++)
				if (st->threads >> h & 1) {
					t->core[c].who[h] = (int)k;
					t->core[c].run[h] = d[k];
				}
	}
	for (unsigned c = 0; c < SIM_ALL; c++) {
		double busy = sim__random(s, 0, 1) < 0.02 ? 0.1 : 0.001; /* of the system */

		for (unsigned h = 0; h < SIM_THREADS; h++)
			if (t->core[c].who[h] < 0) {
				t->core[c].who[h] = SYSTEM;
				t->core[c].run[h] = busy;
				busy = 0;
			}
		t->core[c].both = t->core[c].run[0] * t->core[c].run[1];
	}
}

static const struct load *load_of(const struct sim *s, int who)
{
	return who == SYSTEM ? &loads[LOAD_INT] : &s->si.load[who];
}

static void set_clocks(struct sim *s, struct tick *t)
{
	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		double active = 0;

		for (unsigned c = p * SIM_CORES; c < (p + 1) * SIM_CORES; c++)
			active += fmin(t->core[c].run[0] + t->core[c].run[1], 1);
		for (unsigned c = p * SIM_CORES; c < (p + 1) * SIM_CORES; c++) {
			struct core *core = &t->core[c];
			double f =
				s->si.turbo - (s->si.turbo - s->si.all_core) * active / SIM_CORES;
			double slower = 0, cap = 9;

			for (unsigned h = 0; h < SIM_THREADS; h++) {
				int w = core->who[h];

				if (core->run[h] < 0.15)
					continue;
				slower = fmax(slower, load_of(s, w)->slower_ghz);
				if (w != SYSTEM && s->c.step[w].cap_ghz > 0)
					cap = fmin(cap, s->c.step[w].cap_ghz);
			}
			core->ghz = fmin(f - slower, cap);
		}
	}
}

/* Volts: flat below 1.2 GHz. */
static double volts(const struct silicon *si, double ghz)
{
	return si->v_flat + si->v_slope * fmax(ghz - 1.2, 0);
}

/* Run time that counts as such for power: beside a sibling it has its part of what both take. */
static double effective(const struct sim *s, const struct core *c, unsigned h)
{
	return c->run[h] - c->both + c->both * s->si.smt / 2;
}

static void take_power(struct sim *s, struct tick *t, struct sim_seen *seen)
{
	for (unsigned i = 0; i < SIM_ALL * SIM_THREADS; i++) {
		struct core *c = &t->core[i / SIM_THREADS];
		unsigned h = i % SIM_THREADS, p = i / SIM_THREADS / SIM_CORES;
		const struct load *l = load_of(s, c->who[h]);
		double v = volts(&s->si, c->ghz), run = effective(s, c, h);
		double gbs = l->gbs * pow(c->ghz / 2.8, 0.4) * run;
		struct energy_use *u =
			c->who[h] == SYSTEM ? &seen->system[p] : &seen->use[c->who[h]][p];

		t->dyn[c->who[h]][p] += l->switching_w * v * v * c->ghz * run -
					s->si.core_idle_w * effective(s, c, h) +
					gbs * s->si.uncore_j;
		t->dram[c->who[h]][p] += gbs * l->dram_j;
		u->run_s += c->run[h] * TICK;
		u->overlap_s += c->both * TICK;
		u->cycles += c->run[h] * TICK * c->ghz * 1e9;
		u->misses += gbs * TICK * l->as_misses * 1e9 / 64;
	}
}

/* The uncore is awake while any core is busy: each busy core has its part of that. */
static void wake_uncore(struct sim *s, struct tick *t)
{
	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		double busy = 0, asleep = 1, of[SIM_CONSUMERS] = {0};

		for (unsigned c = p * SIM_CORES; c < (p + 1) * SIM_CORES; c++) {
			struct core *core = &t->core[c];

			for (unsigned h = 0; h < SIM_THREADS; h++)
				of[core->who[h]] += core->run[h] - core->both / 2;
			asleep *= 1 - fmin(core->run[0] + core->run[1] - core->both, 1);
		}
		for (unsigned k = 0; k < SIM_CONSUMERS; k++)
			busy += of[k];
		for (unsigned k = 0; busy > 0 && k < SIM_CONSUMERS; k++)
			t->dyn[k][p] += s->si.wake_w * (1 - asleep) * of[k] / busy;
	}
}

static void follow(double *slow, double now, double seconds)
{
	*slow += (now - *slow) * TICK / seconds;
}

/* Adds leakage to dyn; returns the node's power. */
static double settle(struct sim *s, struct tick *t, struct sim_truth *out)
{
	const struct silicon *si = &s->si;
	double idle = SIM_PACKAGES * (si->idle_w + si->dram_idle_w), load = 0, warm = 0, above;
	double all[SIM_CONSUMERS + 1] = {0};

	for (unsigned k = 0; k < SIM_CONSUMERS; k++) {
		double cores = 0, leak;

		for (unsigned p = 0; p < SIM_PACKAGES; p++)
			cores += t->dyn[k][p];
		follow(&s->heat[k], cores, si->leak_s);
		leak = si->leak * s->heat[k];
		for (unsigned p = 0; p < SIM_PACKAGES; p++) {
			/* where it computes; evenly once it does not */
			double part = cores > 1e-9 ? t->dyn[k][p] / cores : 1.0 / SIM_PACKAGES;

			t->dyn[k][p] += leak * part;
			all[k] += t->dyn[k][p] + t->dram[k][p];
			out->pkg[p] += t->dyn[k][p] * TICK;
			out->dram[p] += t->dram[k][p] * TICK;
		}
		out->dynamic[k] += all[k] * TICK;
		if (k < s->c.nsteps && s->c.step[k].gpu_w > 0) {
			t->gpu[k] = si->gpu_idle_w + s->c.step[k].gpu_w * duty(s, k);
			out->gpu[k] += t->gpu[k] * TICK;
			all[k] += t->gpu[k];
		}
		follow(&s->warm[k], all[k], si->fan_s);
		load += all[k];
		warm += s->warm[k];
	}
	above = si->loss * load + si->loss_2 * ((idle + load) * (idle + load) - idle * idle);
	for (unsigned k = 0; k < SIM_CONSUMERS; k++) {
		double fans = si->fan_w * warm / 500 * s->warm[k] / 500;

		out->other_dynamic[k] +=
			(load > 0 ? above * all[k] / load : 0) * TICK + fans * TICK;
		idle += fans;
	}
	return idle + load + above + si->other_idle_w;
}

static void hold(struct sim *s, struct sim_truth *out)
{
	const struct silicon *si = &s->si;

	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		double left = SIM_CORES;

		for (unsigned k = 0; k <= s->c.nsteps; k++) {
			double held = k < s->c.nsteps ? sim__held(&s->c, k, p) : left;
			unsigned who = k < s->c.nsteps ? k : NOBODY;

			left -= held;
			out->fixed[who] += (si->idle_w + si->dram_idle_w) * held / SIM_CORES;
			out->other_fixed[who] += si->other_idle_w * held / SIM_ALL;
		}
		out->pkg[p] += si->idle_w;
		out->dram[p] += si->dram_idle_w;
	}
}

static double bmc_mean(const struct sim *s)
{
	unsigned n = (unsigned)(SIM_BMC_MEAN * TICKS), late = (unsigned)(SIM_BMC_LATE * TICKS);
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t back = late + i < s->now ? s->now - late - i : 0;

		sum += s->bmc[back % (HISTORY * TICKS)];
	}
	return sum / n;
}

/* A counter that goes by steps, is up to a millisecond late, and is off by its bias. */
static double counter(struct sim *s, double joules, double bias)
{
	double read = joules * (1 + bias) * (1 + noise(s, 0.002)) +
		      joules * sim__random(s, -0.001, 0.001);

	return fmax(floor(read / SIM_PKG_STEP) * SIM_PKG_STEP, 0);
}

static void observe(struct sim *s, const struct sim_truth *truth, struct sim_seen *seen)
{
	double period = s->c.bmc_period > 0 ? s->c.bmc_period : 1;

	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		seen->pkg[p] = counter(s, truth->pkg[p], s->si.pkg_bias[p]);
		seen->dram[p] = counter(s, truth->dram[p], s->si.dram_bias[p]);
		for (unsigned k = 0; k <= s->c.nsteps; k++) {
			struct energy_use *u =
				k < s->c.nsteps ? &seen->use[k][p] : &seen->system[p];

			u->cycles *= 1 + noise(s, 0.001);
			u->misses *= 1 + noise(s, 0.005);
			u->alloc_cores = k < s->c.nsteps ? sim__held(&s->c, k, p) : NAN;
		}
	}
	for (unsigned k = 0; k < SIM_STEPS; k++)
		seen->gpu[k] = truth->gpu[k] > 0 ? truth->gpu[k] * (1 + s->si.gpu_bias) : NAN;
	if (fmod((double)s->now * TICK, period) < 0.5)
		s->bmc_w = floor(bmc_mean(s) * (1 + s->si.node_bias) + 0.5);
	seen->node_w = s->bmc_w;
}

void sim__second(struct sim *s, struct sim_truth *truth, struct sim_seen *seen)
{
	memset(truth, 0, sizeof(*truth));
	memset(seen, 0, sizeof(*seen));
	seen->seconds = 1;
	hold(s, truth);
	for (unsigned i = 0; i < TICKS; i++) {
		struct tick t = {0};

		place(s, &t);
		set_clocks(s, &t);
		take_power(s, &t, seen);
		wake_uncore(s, &t);
		s->bmc[s->now++ % (HISTORY * TICKS)] = settle(s, &t, truth);
	}
	observe(s, truth, seen);
}
