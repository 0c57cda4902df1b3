// SPDX-License-Identifier: GPL-2.0-only
/* Makes executions of regions from begins and ends. */
#include "daemon/step/region_pairs.h"

#include <string.h>

void region_pairs__begin(struct region_pairs *p, const struct region_mark *m)
{
	if (p->nopen == REGION_OPEN_MAX) { /* the oldest will not end any more */
		p->nopen--;
		p->lost++;
		memmove(&p->open[0], &p->open[1], p->nopen * sizeof(p->open[0]));
	}
	p->open[p->nopen++] = *m;
}

static bool fits(const struct region_mark *begin, const struct region_mark *end)
{
	return begin->thread == end->thread && begin->region == end->region &&
	       begin->frame == end->frame;
}

bool region_pairs__end(struct region_pairs *p, const struct region_mark *m,
		       struct region_mark *begin)
{
	unsigned at = p->nopen, i, kept;

	while (at > 0 && !fits(&p->open[at - 1], m))
		at--;
	if (!at || p->open[at - 1].time_ns > m->time_ns) {
		p->lost++;
		return false;
	}
	*begin = p->open[at - 1];
	for (i = kept = at - 1; i < p->nopen; i++) {
		if (p->open[i].thread != m->thread)
			p->open[kept++] = p->open[i];
		else
			p->lost += i != at - 1;
	}
	p->nopen = kept;
	return true;
}

void region_pairs__forget(struct region_pairs *p, uint32_t region)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < p->nopen; i++)
		if (p->open[i].region != region)
			p->open[kept++] = p->open[i];
	p->lost += p->nopen - kept;
	p->nopen = kept;
}

void region_pairs__lose(struct region_pairs *p, uint64_t n)
{
	p->lost += n + p->nopen;
	p->nopen = 0;
}
