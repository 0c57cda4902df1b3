// SPDX-License-Identifier: GPL-2.0-only
/* What the step took of the node's energy, and how sure that is. */
#include <math.h>
#include <string.h>

#include "view/line.h"
#include "model/node.h"

struct energy {
	const struct view *v;
	FILE *out;
};

/* Of the rows in which it is known; NAN: of none. */
static double sum(const struct table *t, const char *column)
{
	const double *v = table__column(t, column);
	double all = NAN;

	for (uint64_t i = 0; v && i < t->nrows; i++)
		if (!isnan(v[i]))
			all = isnan(all) ? v[i] : all + v[i];
	return all;
}

/* By its own sensor, else all parts that were measured. */
static double of_node(const struct table *t)
{
	static const char *const parts[] = {"PkgEnergy", "DramEnergy", "GpuEnergy"};
	double all = sum(t, "NodeEnergy"), part;

	for (unsigned i = 0; isnan(sum(t, "NodeEnergy")) && i < 3; i++) {
		part = sum(t, parts[i]);
		if (!isnan(part))
			all = isnan(all) ? part : all + part;
	}
	return all;
}

/* Slurm's own tables have other columns, and are with the rest. */
static void print_energy(const struct reader_series *s, const struct view_task *t, void *arg)
{
	const struct energy *e = arg;
	struct line l = {.out = e->out, .label = "energy"};
	double step;

	if (strcmp(s->name, "Energy") || !t->t || isnan(step = sum(t->t, "StepEnergy")))
		return;
	line__add(&l, "%s J", step, U_P1);
	line__add(&l, " (%s", sum(t->t, "StepEnergyLow"), U_P1);
	line__add(&l, " to %s)", sum(t->t, "StepEnergyHigh"), U_P1);
	line__end_part(&l);
	line__add(&l, "what it did %s J", sum(t->t, "StepDynamic"), U_P1);
	line__end_part(&l);
	if (e->v->wall > 0) {
		line__add(&l, "mean %s W", step / e->v->wall, U_P1);
		line__end_part(&l);
	}
	line__add(&l, "of the node's %s J", of_node(t->t), U_P1);
	line__end_part(&l);
	line__end(&l);
}

void show__energy(const struct view *v, FILE *out)
{
	struct energy e = {.v = v, .out = out};

	view__each_other(v, print_energy, &e);
}
