/* SPDX-License-Identifier: GPL-2.0-only */
/* A step's part of its node's energy. */
#include "analysis/analysis.h"

#include <math.h>

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

bool energy_use__of(const struct model_node *n, struct energy_use *e)
{
	const struct model_table *t = &n->energy;

	e->step_j = column_stats__sum(t, "StepEnergy");
	if (isnan(e->step_j))
		return false;
	e->low_j = column_stats__sum(t, "StepEnergyLow");
	e->high_j = column_stats__sum(t, "StepEnergyHigh");
	e->dynamic_j = column_stats__sum(t, "StepDynamic");
	e->mean_w = n->wall_s > 0 ? e->step_j / n->wall_s : NAN;
	e->node_j = node_energy_j(t);
	return true;
}
