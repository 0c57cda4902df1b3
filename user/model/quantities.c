/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of quantities, and which of them units have bins of. */
#include <string.h>

#include "model/binned.h"

#define COLS(...)   {__VA_ARGS__}, .any = false
#define ANY_OF(...) {__VA_ARGS__}, .any = true
#define KEPT	    true
#define SUMMED	    false

const struct quantity_info quantity_infos[N_QUANTITIES] = {
#define BINNED(i, s, h, of_task, scaled, cols) \
	[Q_##i] = {.id = #i,                   \
		   .series = #s,               \
		   .how = BINNED_##h,          \
		   .is_kept = of_task,         \
		   .scale = scaled,            \
		   .columns = cols},
#include "schemas/binned.def"
#undef BINNED
};

/* What the page in a browser draws of nodes and tasks over time: of GPUs these have nothing; and
 * how long each step of a node covers a bin, for its gauges. */
static bool is_drawn(enum quantity q)
{
	return q == Q_COVERED || (q != Q_GPU_UTIL && extremes__place(q) >= 0);
}

bool quantity__is_kept(enum quantity q, const char *series)
{
	const char *own = quantity_infos[q].series;
	bool of_budget;

	if (!series)
		return true;
	if (!strcmp(series, BINNED_DRAWN_NODES))
		return is_drawn(q);
	if (!strcmp(series, BINNED_DRAWN_TASKS))
		return is_drawn(q) && quantity__is_kept(q, "STEP");
	of_budget = !strcmp(series, BINNED_BUDGET);
	return quantity_infos[q].is_kept &&
	       (!strcmp(own, series) || (of_budget && !strcmp(own, "STEP")) ||
		((of_budget || !strcmp(series, "STEP")) && !strcmp(own, BINNED_SAMPLES)));
}

unsigned quantity__held_before(int q)
{
	unsigned n = 0;

	while (q-- > 0)
		n += quantity_infos[q].how == BINNED_HELD;
	return n;
}
