// SPDX-License-Identifier: GPL-2.0-only
/* What all steps have, and one of them. */
#include "daemon/record/detail.h"

static size_t all; /* of all steps of this process */

bool detail__take(struct detail *d, size_t bytes)
{
	size_t left = all < DETAIL_MAX ? DETAIL_MAX - all : 0;

	if (bytes > left || d->used + bytes > left)
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

void detail__give_all(struct detail *d)
{
	detail__give(d, d->used);
}
