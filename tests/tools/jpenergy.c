// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jpenergy [RUNS [SEED]]: runs every case of tests/energysim on RUNS nodes that differ, and prints
 * a line of JSON for each: what the split of energy and the rules of others are off by, and how
 * often the bounds held.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/energysim/sim.h"

#define SECONDS 40
#define SETTLE	10 /* of them before anything is compared: it got warm */
#define IDLE_S	60
#define ALONE	48 /* steps that ran alone before */
#define ALONE_S 10

struct result {
	double off[RULES], off_dynamic[RULES]; /* sums of |is - truth|, J */
	double truth, truth_dynamic;
	double run_off[RULES]; /* the same of each step's energy over a whole run */
	double width;	       /* sum of (high - low) / 2, J */
	double allowed; /* the sensor's own error, J: truth by the class of what measured it */
	double leak;
	unsigned held, of, clamped;
};

static void learn(struct sim *s, struct caller *w, const struct sim_case *like)
{
	struct sim_case idle = *like, alone = *like;
	struct sim_truth truth;
	struct sim_seen seen;

	idle.nsteps = 0;
	alone.nsteps = 1;
	sim__run(s, &idle);
	for (unsigned i = 0; i < IDLE_S; i++) {
		sim__second(s, &truth, &seen);
		caller__learn(w, &idle, &seen, 0);
	}
	for (unsigned j = 1; j <= ALONE; j++) {
		unsigned n = 1 + (unsigned)sim__random(s, 1, 16);

		alone.step[0] =
			(struct sim_step){.load = (enum sim_workload)sim__random(s, 0, LOAD_N),
					  .ncores = n,
					  .alloc_n = n,
					  .duty = sim__random(s, 0.5, 1),
					  .mem_gb = 16,
					  .threads = sim__random(s, 0, 1) < 0.3 ? 3 : 1,
					  .first = sim__random(s, 0, 1) < 0.5 ? 0 : SIM_CORES};
		sim__run(s, &alone);
		for (unsigned i = 0; i < ALONE_S; i++) {
			sim__second(s, &truth, &seen);
			caller__learn(w, &alone, &seen, j);
		}
	}
}

/* What the case's sensors can see of it. */
static double total_of(const struct sim_case *c, const struct sim_truth *t, unsigned k,
		       double *dynamic)
{
	double fixed = t->fixed[k];

	*dynamic = t->dynamic[k] + t->gpu[k];
	if (!c->no_node) {
		fixed += t->other_fixed[k];
		*dynamic += t->other_dynamic[k];
	}
	return fixed + *dynamic;
}

static void compare(const struct sim_case *c, const struct sim_truth *t,
		    const struct rule_result *r, struct result *res, double *sums)
{
	for (unsigned k = 0; k < c->nsteps; k++) {
		double dynamic, total = total_of(c, t, k, &dynamic);
		const struct energy_share *s = &r->ours[k];

		for (unsigned rule = 0; rule < RULES; rule++) {
			res->off[rule] += fabs(r->total[rule][k] - total);
			res->off_dynamic[rule] += fabs(r->dynamic[rule][k] - dynamic);
			sums[rule * SIM_STEPS + k] += r->total[rule][k] - total;
		}
		res->truth += total;
		res->truth_dynamic += dynamic;
		res->width += (s->high - s->low) / 2;
		res->held += s->low <= total && total <= s->high;
		res->of++;
	}
	res->leak = fmax(res->leak, r->leak);
	res->clamped += r->clamped;
}

static int run(const struct sim_case *c, uint64_t seed, struct result *res)
{
	struct sim *s = sim__new(seed);
	struct caller *w = caller__new();
	double sums[RULES * SIM_STEPS] = {0};
	int err = 0;

	if (!c->no_calib)
		learn(s, w, c);
	sim__run(s, c);
	for (unsigned i = 0; i < SECONDS && !err; i++) {
		struct sim_truth truth;
		struct sim_seen seen;
		struct rule_result r;

		memset(&r, 0, sizeof(r));
		sim__second(s, &truth, &seen);
		err = caller__split(w, c, &seen, &r);
		if (!err && i >= SETTLE)
			compare(c, &truth, &r, res, sums);
	}
	for (unsigned i = 0; i < RULES * SIM_STEPS; i++)
		res->run_off[i / SIM_STEPS] += fabs(sums[i]);
	caller__free(w);
	sim__free(s);
	return err;
}

static void print(const struct sim_case *c, const struct result *r)
{
	static const char *const names[RULES] = {"jobprof", "kepler", "ceems", "slurm"};

	printf("{\"case\": \"%s\", \"steps\": %u", c->name, c->nsteps);
	for (unsigned i = 0; i < RULES; i++)
		printf(", \"%s\": %.2f, \"%s_run\": %.2f", names[i], 100 * r->off[i] / r->truth,
		       names[i], 100 * r->run_off[i] / r->truth);
	for (unsigned i = 0; i < RULE_CEEMS; i++)
		printf(", \"%s_dynamic\": %.2f", names[i],
		       100 * r->off_dynamic[i] / r->truth_dynamic);
	printf(", \"held\": %.2f, \"width\": %.2f, \"of\": %u, \"clamped\": %u, \"leak\": %.3g}\n",
	       100.0 * r->held / r->of, 100 * r->width / r->truth, r->of, r->clamped, r->leak);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	if (argc > 3 || !runs || runs > 100000) {
		fprintf(stderr, "usage: jpenergy [RUNS [SEED]]\n");
		return 2;
	}
	for (unsigned i = 0; i < n_sim_cases; i++) {
		struct result res = {0};

		for (unsigned long j = 0; j < runs; j++) {
			int err = run(&sim_cases[i], seed + j * n_sim_cases + i, &res);

			if (err) {
				fprintf(stderr, "jpenergy: %s: %s\n", sim_cases[i].name,
					strerror(-err));
				return 1;
			}
		}
		print(&sim_cases[i], &res);
	}
	return 0;
}
