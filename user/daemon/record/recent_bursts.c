// SPDX-License-Identifier: GPL-2.0-only
/* A ring of the last bursts of a step, which grows to JPC_BURSTS_KEPT rows. */
#include "daemon/record/recent_bursts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/protocol.h"

#define FORGET_NS (60 * NSEC_PER_SEC) /* after the last question */
#define LEAST	  1024u

static unsigned rings; /* of all steps */

static size_t row_cells(const struct recent_bursts *r)
{
	return 2 + (size_t)r->ncols;
}

static union cell *row_of(const struct recent_bursts *r, uint64_t number)
{
	return r->cells + (number - 1) % r->cap * row_cells(r);
}

void recent_bursts__free(struct recent_bursts *r)
{
	rings -= r->cap != 0;
	free(r->cells);
	r->cells = NULL;
	r->cap = 0;
}

int recent_bursts__ask(struct recent_bursts *r, unsigned ncols, uint64_t now_ns)
{
	r->asked_ns = now_ns;
	if (r->cap)
		return 0;
	if (rings >= JPC_BURSTS_STEPS)
		return -EDQUOT;
	r->ncols = ncols;
	r->cells = calloc(LEAST, row_cells(r) * sizeof(*r->cells));
	if (!r->cells)
		return -ENOMEM;
	r->cap = LEAST;
	r->first = r->rows.written + 1;
	rings++;
	return 0;
}

void recent_bursts__begin(struct recent_bursts *r, uint64_t now_ns)
{
	if (r->cap && now_ns - r->asked_ns > FORGET_NS)
		recent_bursts__free(r);
}

/* Twice the room. Without memory the oldest ones go. */
static void grow_ring(struct recent_bursts *r, uint64_t last)
{
	struct recent_bursts to = *r;

	to.cap = 2 * r->cap;
	to.cells = calloc(to.cap, row_cells(r) * sizeof(*to.cells));
	if (!to.cells)
		return;
	for (uint64_t n = last < r->cap ? 1 : last - r->cap + 1; n <= last; n++)
		memcpy(row_of(&to, n), row_of(r, n), row_cells(r) * sizeof(*r->cells));
	free(r->cells);
	*r = to;
}

void recent_bursts__add(struct recent_bursts *r, int task, const union cell *cells, unsigned ncols)
{
	uint64_t number = ++r->rows.put;
	union cell *row;

	if (!r->cap || ncols != r->ncols)
		return;
	if (number - r->first >= r->cap && r->cap < JPC_BURSTS_KEPT)
		grow_ring(r, number - 1);
	if (number - r->first >= r->cap)
		r->first = number - r->cap + 1;
	row = row_of(r, number);
	row[0].u = number;
	row[1].u = (uint64_t)task;
	memcpy(row + 2, cells, ncols * sizeof(*cells));
}

const union cell *recent_bursts__next(const struct recent_bursts *r, uint64_t *after)
{
	uint64_t n = *after >= r->first && *after <= r->rows.written ? *after + 1 : r->first;

	if (!r->cap || n > r->rows.written || *after == r->rows.written)
		return NULL;
	*after = n;
	return row_of(r, n);
}
