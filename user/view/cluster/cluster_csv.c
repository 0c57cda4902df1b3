// SPDX-License-Identifier: GPL-2.0-only
/* A line per burst, with its cluster, for other programs. */
#include <math.h>

#include "base/csv.h"
#include "view/cluster/cluster_view.h"

static void put_number(double v, FILE *out)
{
	if (isnan(v))
		putc(',', out);
	else
		fprintf(out, ",%.9f", v);
}

void cluster_csv__head(const struct model_bursts *b, FILE *out)
{
	fputs("Step,Node,Task,Rank,Thread,End,Duration,OnCPU,RunTime,Gap,Cluster", out);
	for (unsigned e = 0; e < b->nevents; e++) {
		putc(',', out);
		csv__print(out, b->events[e]);
	}
	putc('\n', out);
}

void cluster_csv__row(const struct model_bursts *b, const struct burst_row *row, unsigned label,
		      FILE *out)
{
	const struct burst_place *p = &b->places[row->place];
	const double times[] = {row->end, row->wall, row->on_cpu, row->run, row->gap};
	cluster_name name;

	csv__print(out, p->step);
	putc(',', out);
	csv__print(out, p->node);
	putc(',', out);
	csv__print(out, p->task);
	if (p->rank >= 0)
		fprintf(out, ",%d", p->rank);
	else
		putc(',', out);
	if (isnan(b->tids[row->thread]))
		putc(',', out);
	else
		fprintf(out, ",%.0f", b->tids[row->thread]);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		put_number(times[i], out);
	fprintf(out, ",%s", label == CLUSTER_UNUSED ? "" : cluster_name__of(label, name));
	for (unsigned e = 0; e < b->nevents; e++)
		put_number(row->counts[e], out);
	putc('\n', out);
}
