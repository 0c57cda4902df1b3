/* SPDX-License-Identifier: GPL-2.0-only */
/* The line on energy: the step's part of the node's, with its bounds. */
#include <math.h>

#include "analysis/analysis.h"
#include "view/line.h"
#include "view/page.h"

void page__print_energy(const struct page *p)
{
	struct line l = {.out = p->out, .label = "energy"};
	struct energy_use e;

	if (!energy_use__of(p->node, &e))
		return;
	if (!isnan(e.step_j)) {
		line__add(&l, "%s J", e.step_j, U_P1);
		line__add(&l, " (%s", e.low_j, U_P1);
		line__add(&l, " to %s)", e.high_j, U_P1);
		line__end_part(&l);
		line__add(&l, "what it did %s J", e.dynamic_j, U_P1);
		line__end_part(&l);
	}
	if (!isnan(e.mean_w)) {
		line__add(&l, "mean %s W", e.mean_w, U_P1);
		line__end_part(&l);
	}
	line__add(&l, isnan(e.step_j) ? "the whole node's %s J" : "of the node's %s J", e.node_j,
		  U_P1);
	line__end_part(&l);
	line__end(&l);
}
