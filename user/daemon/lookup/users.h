/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and groups of users. The name service may take long, so a helper (lookup.h) asks it, and
 * answers are kept for a while. */
#ifndef JP_DAEMON_LOOKUP_USERS_H
#define JP_DAEMON_LOOKUP_USERS_H

#include "daemon/lookup/lookup.h"

#define USERS_KEPT 64

struct users {
	struct user {
		enum { USER_FREE, USER_ASKED, USER_KNOWN, USER_UNKNOWN } state;
		uid_t uid;
		gid_t gid;
		char name[64];
		uint64_t at_ns; /* of the question, or of the answer */
	} kept[USERS_KEPT];
};

/* Finds the user. NULL with *err -EAGAIN: the answer of the name service is under way, -ENOENT:
 * there is no such user, or no answer. */
const struct user *users__find(struct users *u, struct lookups *l, uid_t uid, uint64_t now_ns,
			       int *err);
/* A question of kind LOOKUP_USER was answered. */
void users__answered(struct users *u, uid_t uid, const struct lookup_answer *a, uint64_t now_ns);

#endif
