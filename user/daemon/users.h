/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and groups of users, as the name service says them: it may take long, so it is asked by a
 * helper (lookup.h) and its answers are kept for a while. */
#ifndef JP_DAEMON_USERS_H
#define JP_DAEMON_USERS_H

#include "daemon/lookup.h"

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

/* The user; NULL with *err -EAGAIN: the name service is being asked, -ENOENT: it knows of none or
 * gives no answer. */
const struct user *users__find(struct users *u, struct lookups *l, uid_t uid, uint64_t now_ns,
			       int *err);
/* A question of kind LOOKUP_USER was answered. */
void users__answered(struct users *u, uid_t uid, const struct lookup_answer *a, uint64_t now_ns);

#endif
