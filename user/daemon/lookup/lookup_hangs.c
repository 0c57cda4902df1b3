// SPDX-License-Identifier: GPL-2.0-only
/* Which targets of lookups hang their helpers, and for how long they are not asked about. */
#include "daemon/lookup/lookup_hangs.h"

#include <stddef.h>

#include "base/clock.h"

#define BLOCKED_NS (60 * NSEC_PER_SEC)

struct lookup_target lookup_target__of(const struct lookup *q)
{
	switch (q->kind) {
	case LOOKUP_STEPD:
		return (struct lookup_target){TARGET_STEPD, 0};
	case LOOKUP_USER:
		return (struct lookup_target){TARGET_NAMES, 0};
	case LOOKUP_PROGRAM:
	case LOOKUP_LIBRARIES:
	case LOOKUP_MAPS:
		return (struct lookup_target){TARGET_PROGRAM, q->uid};
	default:
		return (struct lookup_target){TARGET_USER, q->uid};
	}
}

bool lookup_target__equal(const struct lookup_target *a, const struct lookup_target *b)
{
	return a->kind == b->kind && a->uid == b->uid;
}

static struct lookup_blocked *find_blocked(struct lookup_hangs *h, const struct lookup_target *p)
{
	for (unsigned i = 0; i < h->nblocked; i++)
		if (lookup_target__equal(&h->blocked[i].target, p))
			return &h->blocked[i];
	return NULL;
}

void lookup_hangs__count(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns)
{
	struct lookup_blocked *b = find_blocked(h, p);

	if (!b) {
		b = &h->blocked[h->nblocked < LOOKUP_BLOCKED_MAX ? h->nblocked++
								 : now_ns % LOOKUP_BLOCKED_MAX];
		*b = (struct lookup_blocked){.target = *p};
	}
	b->hangs++;
	b->until_ns = now_ns + BLOCKED_NS;
	if (!log_every(&h->log, 60))
		return;
	if (p->kind == TARGET_NAMES)
		log_warn("the name service gives no answer: directories have numbers of users "
			 "where their names are not known");
	else if (p->kind == TARGET_PROGRAM)
		log_warn("a process of uid %u cannot be read, its memory map is locked or the file "
			 "system of its program does not answer: the attributes Executable and "
			 "... Libraries of its task are missing",
			 p->uid);
	else
		log_warn("a process of %s%u cannot be read, its memory map is locked: its task "
			 "has no number and its step no attributes from there",
			 p->kind == TARGET_STEPD ? "slurmstepd, uid " : "uid ", p->uid);
}

void lookup_hangs__clear(struct lookup_hangs *h, const struct lookup_target *p)
{
	struct lookup_blocked *b = find_blocked(h, p);

	if (b)
		b->hangs = 0;
}

bool lookup_hangs__blocks(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns)
{
	const struct lookup_blocked *b = find_blocked(h, p);

	return b && b->hangs >= LOOKUP_HANGS_MAX && now_ns < b->until_ns;
}
