/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the owner of a profile, who can write anything into it, may say of its job. */
#ifndef JP_INDEX_CLAIM_H
#define JP_INDEX_CLAIM_H

#include <sys/types.h>

#include "index/row.h"

struct claim {
	uint32_t job; /* by the file's name; 0: it has none */
	uid_t uid;    /* who owns the file */
	const char *owner;
	double changed_s; /* when a file of the job last changed */
};

/* The user's name, or its number. */
void claim__name_of_user(uid_t uid, char *name, size_t size);
/* Writes why a profile that says this is refused; "": it is not. */
void claim__find_lie(char *why, size_t size, const struct row *r, const struct claim *c);

#endif
