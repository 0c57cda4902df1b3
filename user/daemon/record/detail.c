// SPDX-License-Identifier: GPL-2.0-only
/* Counts the memory that each step, each user and all steps together use. */
#include "daemon/record/detail.h"

static size_t all; /* of all steps of this process */
static struct detail *details;

void detail__begin(struct detail *d, uid_t uid)
{
	*d = (struct detail){.next = details, .uid = uid};
	details = d;
}

void detail__end(struct detail *d)
{
	struct detail **at = &details;

	while (*at && *at != d)
		at = &(*at)->next;
	if (*at)
		*at = d->next;
	detail__give(d, d->used);
}

static size_t used_by_user(const struct detail *d)
{
	size_t used = 0;

	if (d->uid == (uid_t)-1)
		return d->used;
	for (const struct detail *o = details; o; o = o->next)
		used += o->uid == d->uid ? o->used : 0;
	return used;
}

bool detail__take(struct detail *d, size_t bytes)
{
	size_t left = all < DETAIL_MAX ? DETAIL_MAX - all : 0;

	if (bytes > left || used_by_user(d) + bytes > left)
		return false;
	d->used += bytes;
	all += bytes;
	return true;
}

void detail__give(struct detail *d, size_t bytes)
{
	d->used -= bytes;
	all -= bytes;
}
