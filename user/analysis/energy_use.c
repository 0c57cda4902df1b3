/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step's part of its node's energy. */
#include "analysis/analysis.h"

#include <math.h>

#include "base/known.h"

/* The node's energy by its own sensor, else the sum of the parts that were measured, J. */
static double node_energy_j(const struct model_table *t)
{
	static const char *const parts[] = {"PkgEnergy", "DramEnergy", "GpuEnergy"};
	double node = column_stats__sum(t, "NodeEnergy"), sum = NAN;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double part = column_stats__sum(t, parts[i]);

		if (!isnan(part))
			sum = isnan(sum) ? part : sum + part;
	}
	return isnan(node) ? sum : node;
}

/* What Slurm's gatherers write is the node's power when they polled it, by one of these names. */
static void add_polled(const struct model_table *t, struct energy_use *e)
{
	static const char *const names[] = {"CurrPower", "Power", "NodePower"};
	const double *watts = NULL;
	double known_s = 0;

	for (unsigned i = 0; !watts && i < sizeof(names) / sizeof(names[0]); i++)
		watts = model_table__column(t, names[i]);
	for (uint64_t i = 1; watts && t->end_s && i < t->nrows; i++) {
		double s = fmax(0, t->end_s[i] - t->end_s[i - 1]);

		if (isnan(watts[i]))
			continue;
		e->node_j = known__sum(e->node_j, watts[i] * s);
		known_s += s;
	}
	e->mean_w = known_s > 0 ? e->node_j / known_s : NAN;
}

bool energy_use__of(const struct model_node *n, struct energy_use *e)
{
	const struct model_table *t = &n->energy;

	*e = (struct energy_use){NAN, NAN, NAN, NAN, NAN, NAN};
	e->step_j = column_stats__sum(t, "StepEnergy");
	if (isnan(e->step_j)) {
		add_polled(t, e);
		return !isnan(e->node_j);
	}
	e->low_j = column_stats__sum(t, "StepEnergyLow");
	e->high_j = column_stats__sum(t, "StepEnergyHigh");
	e->dynamic_j = column_stats__sum(t, "StepDynamic");
	e->mean_w = n->wall_s > 0 ? e->step_j / n->wall_s : NAN;
	e->node_j = node_energy_j(t);
	return true;
}
