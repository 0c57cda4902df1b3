// SPDX-License-Identifier: GPL-2.0-or-later
/* What each rule makes of the same readings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "energy/energy_calib.h"
#include "energy/energy_lag.h"
#include "tests/energysim/sim.h"

#define SYSTEM_MEM_GB 6

struct caller {
	struct calib_package package[SIM_PACKAGES];
	struct calib_min other;
	struct energy_lag lag;
};

struct caller *caller__new(void)
{
	struct caller *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	for (unsigned p = 0; p < SIM_PACKAGES; p++)
		calib_package__init(&w->package[p]);
	calib_min__init(&w->other);
	return w;
}

void caller__free(struct caller *w)
{
	free(w);
}

static double sum_gpu(const struct sim_seen *seen)
{
	double sum = 0;

	for (unsigned k = 0; k < SIM_STEPS; k++)
		sum += isnan(seen->gpu[k]) ? 0 : seen->gpu[k];
	return sum;
}

/* Packages, DRAM and GPUs, as far as the case has them. */
static double parts(const struct sim_case *c, const struct sim_seen *seen)
{
	double sum = sum_gpu(seen);

	for (unsigned p = 0; p < SIM_PACKAGES && !c->no_rapl; p++)
		sum += seen->pkg[p] + (c->no_dram ? 0 : seen->dram[p]);
	return sum;
}

static double busy_s(const struct energy_use *u)
{
	return u->run_s - u->overlap_s / 2;
}

void caller__learn(struct caller *w, const struct sim_case *c, const struct sim_seen *seen,
		   uint64_t step_id)
{
	double busy_of_all = 0;

	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		double most = 0, all = busy_s(&seen->system[p]);

		for (unsigned k = 0; k < c->nsteps; k++) {
			all += busy_s(&seen->use[k][p]);
			most = fmax(most, busy_s(&seen->use[k][p]));
		}
		busy_of_all += all;
		calib_package__add(
			&w->package[p],
			&(struct calib_window){seen->seconds, c->no_rapl ? NAN : seen->pkg[p],
					       c->no_rapl || c->no_dram ? NAN : seen->dram[p],
					       SIM_CORES, all, most, step_id});
	}
	if (!c->no_node)
		calib_other__add(&w->other, seen->node_w - parts(c, seen) / seen->seconds,
				 busy_of_all / SIM_ALL / seen->seconds);
	energy_lag__add(&w->lag, seen->seconds, parts(c, seen) / seen->seconds, seen->node_w);
}

static void hide(const struct sim_case *c, struct energy_use *u)
{
	if (c->no_cycles)
		u->cycles = NAN;
	if (c->no_misses)
		u->misses = NAN;
}

static int ours(struct caller *w, const struct sim_case *c, const struct sim_seen *seen,
		struct rule_result *out)
{
	struct energy_package package[SIM_PACKAGES];
	struct energy_use use[SIM_STEPS][SIM_PACKAGES], system[SIM_PACKAGES];
	struct energy_split split = {.step = out->ours};
	double late = SIM_BMC_MEAN + SIM_BMC_LATE + (c->bmc_period > 0 ? c->bmc_period : 1), sum;
	struct energy_input in = {.seconds = seen->seconds,
				  .node = c->no_node ? NAN : seen->node_w * seen->seconds,
				  .node_error = SIM_NODE_ERROR,
				  .node_off = c->no_node ? 0 : energy_lag__off(&w->lag, 1, late),
				  .pkg_error = SIM_PKG_ERROR,
				  .gpu_error = SIM_GPU_ERROR,
				  .idle_error = ENERGY_IDLE_ERROR,
				  .pkg_step = SIM_PKG_STEP,
				  .pkg_edge_s = 0.001,
				  .other_idle_w = c->no_calib ? NAN : calib_min__value(&w->other),
				  .npackages = SIM_PACKAGES,
				  .package = package,
				  .nsteps = c->nsteps,
				  .use = use[0],
				  .system = system,
				  .gpu = seen->gpu};
	int err;

	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		struct calib_package *l = &w->package[p];

		package[p] =
			(struct energy_package){c->no_rapl ? NAN : seen->pkg[p],
						c->no_rapl || c->no_dram ? NAN : seen->dram[p],
						c->no_calib ? NAN : calib_package__pkg_idle_w(l),
						c->no_calib ? NAN : calib_package__dram_idle_w(l),
						SIM_CORES,
						NAN,
						NAN};
		if (!c->no_calib)
			calib_package__range(l, &package[p].pmin_w, &package[p].pmax_w);
		system[p] = seen->system[p];
		hide(c, &system[p]);
		for (unsigned k = 0; k < c->nsteps; k++) {
			use[k][p] = seen->use[k][p];
			hide(c, &use[k][p]);
		}
	}
	err = energy__split(&in, &split);
	if (err)
		return err;
	sum = split.system + split.unallocated;
	for (unsigned k = 0; k < c->nsteps; k++) {
		out->total[RULE_OURS][k] = out->ours[k].total;
		out->dynamic[RULE_OURS][k] = out->ours[k].dynamic;
		sum += out->ours[k].total;
	}
	out->leak = fabs(sum - split.measured) / split.measured;
	out->clamped = split.clamped;
	return 0;
}

/* What the other rules start from. */
struct readings {
	double node, pkg, dram, gpu; /* J; node and parts without GPUs; NAN: not measured */
	double run[SIM_STEPS], all;  /* CPU time; all: the system's too */
	double mem;
};

static struct readings read_all(const struct sim_case *c, const struct sim_seen *seen)
{
	struct readings r = {.gpu = sum_gpu(seen), .mem = SYSTEM_MEM_GB};

	for (unsigned p = 0; p < SIM_PACKAGES; p++) {
		r.pkg += seen->pkg[p];
		r.dram += seen->dram[p];
		r.all += seen->system[p].run_s;
		for (unsigned k = 0; k < c->nsteps; k++) {
			r.run[k] += seen->use[k][p].run_s;
			r.all += seen->use[k][p].run_s;
		}
	}
	for (unsigned k = 0; k < c->nsteps; k++)
		r.mem += c->step[k].mem_gb;
	if (c->no_dram)
		r.dram = 0;
	r.node = c->no_node ? r.pkg + r.dram : seen->node_w * seen->seconds - r.gpu;
	return r;
}

static double own_gpu(const struct sim_seen *seen, unsigned k)
{
	return isnan(seen->gpu[k]) ? 0 : seen->gpu[k];
}

/* Active power is power times the busy part of the node's CPUs; workloads have it by CPU time. */
static void kepler(const struct sim_case *c, const struct sim_seen *seen, struct rule_result *out)
{
	struct readings r = read_all(c, seen);
	double active = r.node * r.all / (SIM_ALL * SIM_THREADS * seen->seconds);

	for (unsigned k = 0; k < c->nsteps; k++)
		out->total[RULE_KEPLER][k] = out->dynamic[RULE_KEPLER][k] =
			active * r.run[k] / r.all + own_gpu(seen, k);
}

/* 0.9 of the node by CPU time and memory, as RAPL says how much is whose, 0.1 to each job alike. */
static void ceems(const struct sim_case *c, const struct sim_seen *seen, struct rule_result *out)
{
	struct readings r = read_all(c, seen);
	double cpu = c->no_rapl ? 1 : r.pkg / (r.pkg + r.dram);
	double by_use = c->no_node ? r.node : 0.9 * r.node;
	double each = c->no_node ? 0 : 0.1 * r.node / c->nsteps;

	for (unsigned k = 0; k < c->nsteps; k++)
		out->total[RULE_CEEMS][k] = by_use * cpu * r.run[k] / r.all +
					    by_use * (1 - cpu) * c->step[k].mem_gb / r.mem + each +
					    own_gpu(seen, k);
}

static void slurm(const struct sim_case *c, const struct sim_seen *seen, struct rule_result *out)
{
	struct readings r = read_all(c, seen);

	for (unsigned k = 0; k < c->nsteps; k++)
		out->total[RULE_SLURM][k] = r.node + r.gpu;
}

int caller__split(struct caller *w, const struct sim_case *c, const struct sim_seen *seen,
		  struct rule_result *out)
{
	int err;

	energy_lag__add(&w->lag, seen->seconds, parts(c, seen) / seen->seconds, seen->node_w);
	err = ours(w, c, seen, out);
	kepler(c, seen, out);
	ceems(c, seen, out);
	slurm(c, seen, out);
	return err;
}
