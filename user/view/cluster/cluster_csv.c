// SPDX-License-Identifier: GPL-2.0-only
/* A line per burst, with its cluster, for other programs. */
#include <math.h>

#include "view/cluster/cluster_view.h"

/* Names of steps, nodes and tasks are of files. */
static void put_text(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			putc('"', out);
		if ((unsigned char)*s >= ' ')
			putc(*s, out);
	}
	putc('"', out);
}

static void put_number(double v, FILE *out)
{
	if (isnan(v))
		putc(',', out);
	else
		fprintf(out, ",%.9f", v);
}

void cluster_view__csv(const struct cluster_view *v, FILE *out)
{
	const struct model_bursts *b = v->bursts;

	fputs("Step,Node,Task,Rank,Thread,End,Duration,OnCPU,RunTime,Gap,Cluster", out);
	for (unsigned e = 0; e < b->nevents; e++) {
		putc(',', out);
		put_text(b->events[e], out);
	}
	putc('\n', out);
	for (size_t i = 0; i < b->n; i++) {
		const struct burst_place *p = &b->places[b->place[i]];
		unsigned k = v->clusters->labels[i];
		cluster_name name;

		put_text(p->step, out);
		putc(',', out);
		put_text(p->node, out);
		putc(',', out);
		put_text(p->task, out);
		if (p->rank >= 0)
			fprintf(out, ",%d", p->rank);
		else
			putc(',', out);
		fprintf(out, ",%u", b->thread[i]);
		put_number(b->end[i], out);
		put_number(b->wall[i], out);
		put_number(b->on_cpu[i], out);
		put_number(b->run[i], out);
		put_number(b->gap[i], out);
		fprintf(out, ",%s", k == CLUSTER_UNUSED ? "" : cluster_name__of(k, name));
		for (unsigned e = 0; e < b->nevents; e++)
			put_number(b->counts[e][i], out);
		putc('\n', out);
	}
}
