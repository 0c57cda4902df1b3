/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one user, and all users together, may use of the socket: connections, memory for answers
 * that wait, and work. Root has no limits. */
#ifndef JP_DAEMON_SOCKET_QUOTA_H
#define JP_DAEMON_SOCKET_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Work is counted in messages; an accepted connection, a search for a cgroup, a ring and a snapshot
 * cost as much as so many of them. */
#define QUOTA_ACCEPT 3
#define QUOTA_LOCATE 10
#define QUOTA_RING   10 /* memory that both processes map */
#define QUOTA_LOOK   20 /* a snapshot of all slots */
#define QUOTA_ROWS                                                                                \
	400 /* rows of all tables of a step, which stay in its journal, and a copy of the journal \
	     */

struct quota_limits {
	unsigned peers;
	size_t pending;
	double rate, burst; /* messages per second, and at most at once */
};

struct quota {
	const struct quota_limits *limits;
	struct quota *all, *next; /* all: the quota of all users, which also counts; NULL in that
				     quota itself */
	uid_t uid;
	unsigned peers;
	size_t pending; /* bytes */
	double tokens;	/* work that may still be done; below 0: earlier work is not paid for yet */
	uint64_t tokens_ns;
};

struct quotas {
	struct quota all,
		accepts; /* accepts: for accepting connections at the socket for everybody */
	struct quota
		strangers; /* for users in no step, where one user may have any number of ids */
	struct quota *users;
	struct quota_limits of_all, of_strangers, of_user;
};

/* files: how many this process may have open; connections get at most a quarter of these. */
void quotas__init(struct quotas *s, size_t files, uint64_t now_ns);
void quotas__free(struct quotas *s);
/* A user's quota, of their steps or outside of steps, which lives until quotas__tidy(). NULL: no
 * memory. */
struct quota *quotas__of_user(struct quotas *s, uid_t uid, bool in_step, uint64_t now_ns);
/* Frees the quotas of users that have no connection and have used nothing lately. */
void quotas__tidy(struct quotas *s, uint64_t now_ns);

/* Counts one connection more; false: there are too many. */
bool quota__connect(struct quota *u);
void quota__disconnect(struct quota *u);
/* Counts further bytes that wait for a reader; false: there are too many. u NULL: root. */
bool quota__hold(struct quota *u, size_t bytes);
void quota__release(struct quota *u, size_t bytes);
/* quota__may_work(): whether the user's work may be done now. quota__charge(): charges work that
 * was done. u NULL: root. */
bool quota__may_work(struct quota *u, uint64_t now_ns);
void quota__charge(struct quota *u, double messages);

#endif
