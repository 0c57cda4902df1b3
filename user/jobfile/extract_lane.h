/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a helper and the process it helps have between them: memory, cut into slots, for the text it
 * makes, and a socket. Down the socket goes an order per series, or how many slots can be used
 * again; up go the bytes of each slot that is full, the end of each block of nodes, and the report
 * on the order.
 */
#ifndef JP_JOBFILE_EXTRACT_LANE_H
#define JP_JOBFILE_EXTRACT_LANE_H

#include "jobfile/extract_internal.h"
#include "pool/pool.h"

#define LANE_SLOT  (256u << 10) /* bytes */
#define LANE_SLOTS 16u

/* Up, 32 bits: the bytes of a slot, or one of these. */
#define LANE_BLOCK  0	       /* the end of one */
#define LANE_REPORT UINT32_MAX /* struct report follows, and where it says no error, the marks */

/* Down, one byte: slots, or this, which a struct message follows: an order. */
#define LANE_ORDER 0

/* Either end. */
struct lane {
	int fd;
	char *slots;
	unsigned next; /* slot to be filled, or written out */
	unsigned lent; /* slots that the parent has, or that it has done with and not yet said so */
};

struct helper {
	struct pool_beside process;
	struct lane lane;
};

#define LANE_BLOCKS (64u << 10) /* at most */

struct helpers {
	struct helper v[EXTRACT_THREADS_MAX]; /* v[first] to v[n - 1] */
	unsigned first, n;		      /* first 1: the parent makes blocks too */
	uint8_t *makers;		      /* of each block: process k as k + 1; all share it */
};

/* The first thing in an order, to process `which` of nprocs; the series as it was named and the
 * names of the columns follow. */
struct order {
	unsigned which, nprocs;
	unsigned block, nrefs; /* nodes in a block, and in all */
	unsigned ncols;
	bool grouped;
	bool last; /* there will be no other */
};

/* The marks that follow are the extraction's lacks and found. */
struct report {
	int err; /* as extract__node has it */
	struct extract_result result;
};

static inline char *lane__slot(const struct lane *l)
{
	return l->slots + (size_t)l->next * LANE_SLOT;
}

static inline void lane__advance(struct lane *l)
{
	l->next = (l->next + 1) % LANE_SLOTS;
}

static inline unsigned order__blocks(const struct order *o)
{
	return o->nrefs / o->block + (o->nrefs % o->block != 0);
}

/* Whether block b is process k's to make: whoever comes first, where it is not settled. */
bool extract__claim(const struct extraction *x, unsigned b, unsigned k);
/* The nodes of block b. 0 or what extract__node ends with. */
int extract__block(struct extraction *x, const struct order *o, unsigned b);
/* The size of the file. */
uint64_t extract__bytes(const struct extraction *x);

/* A helper's life; it never returns. The file may be open already. */
void extract__help(struct extraction *x, struct lane *l) __attribute__((noreturn));

#endif
