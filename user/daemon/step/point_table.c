// SPDX-License-Identifier: GPL-2.0-only
/* Points of the family fold as rows of SamplePoints. */
#include "daemon/step/point_table.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "kern/kern.h"
#include "schema/column.h"

static const struct jpc_column of_all[POINT_COLUMNS] = {
	{.name = "Time", .unit = "ns", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Task", .cell = JPC_F64, .kind = JPC_GAUGE},
	{.name = "Process", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Thread", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Kind", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "Place", .cell = JPC_U64, .kind = JPC_GAUGE},
	{.name = "CPUTime", .unit = "ns", .cell = JPC_U64, .kind = JPC_CUMULATIVE},
	{.name = "PageFaults", .cell = JPC_U64, .kind = JPC_CUMULATIVE},
	{.name = "Period", .unit = "ns", .cell = JPC_F64, .kind = JPC_GAUGE},
};

static bool is_of_all(const char *name)
{
	for (unsigned i = 0; i < POINT_COLUMNS; i++)
		if (!strcmp(of_all[i].name, name))
			return true;
	return false;
}

void point_table__init(struct point_table *t, const struct column *events, unsigned n)
{
	memcpy(t->col, of_all, sizeof(of_all));
	t->ncols = POINT_COLUMNS;
	for (unsigned i = 0; i < n; i++) {
		struct jpc_column *c = &t->col[t->ncols];

		*c = (struct jpc_column){.cell = JPC_F64, .kind = JPC_CUMULATIVE};
		if (is_of_all(events[i].name) ||
		    str__copy(c->name, sizeof(c->name), events[i].name))
			continue;
		t->event[t->ncols++ - POINT_COLUMNS] = i;
	}
}

static double count_of(const struct jp_point *p, unsigned event)
{
	const struct jp_counted_point *c = (const struct jp_counted_point *)p;
	int place = kern__place_of(p->events, event);

	return place < 0 || c->count[place] == JP_UNCOUNTED ? NAN : (double)c->count[place];
}

void point_table__row(const struct point_table *t, const struct jp_point *p, int task,
		      uint64_t *cells)
{
	const double number = task < 0 ? NAN : task;
	const double period = p->period_ns ? (double)p->period_ns : NAN;
	const uint64_t of_each[POINT_COLUMNS] = {p->time_ns, 0,	       p->tgid,	  p->tid,
						 p->module,  p->place, p->cpu_ns, p->faults};

	memcpy(cells, of_each, sizeof(of_each));
	memcpy(&cells[1], &number, sizeof(number));
	memcpy(&cells[8], &period, sizeof(period));
	for (unsigned i = POINT_COLUMNS; i < t->ncols; i++) {
		double count = count_of(p, t->event[i - POINT_COLUMNS]);

		memcpy(&cells[i], &count, sizeof(count));
	}
}
