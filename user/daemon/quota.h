/* SPDX-License-Identifier: GPL-2.0-only */
/* What one user, and all users together, may take of the socket: connections, memory for answers
 * that wait, and work. Root has no share and no limit. */
#ifndef JP_DAEMON_QUOTA_H
#define JP_DAEMON_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Work is counted in messages; other things cost as much as so many of them. */
#define SHARE_ACCEPT 3
#define SHARE_LOCATE 10

struct share_limits {
	unsigned peers;
	size_t pending;
	double rate, burst; /* messages per second, and at once */
};

struct share {
	const struct share_limits *limits;
	struct share *all, *next; /* all: NULL in that of all users */
	uid_t uid;
	unsigned peers;
	size_t pending; /* bytes */
	double tokens;	/* below 0: what was done is not paid for yet */
	uint64_t tokens_ns;
};

struct shares {
	struct share all, accepts; /* accepts: of connections by the socket for everybody */
	struct share *users;
	struct share_limits of_all, of_user;
};

/* files: how many this process may have open; connections get a quarter of that at the most. */
void shares__init(struct shares *s, size_t files, uint64_t now_ns);
void shares__free(struct shares *s);
/* A user's share, which lives until shares__tidy(). NULL: no memory. */
struct share *shares__of(struct shares *s, uid_t uid, uint64_t now_ns);
/* Forgets the users who have no connection and have used nothing lately. */
void shares__tidy(struct shares *s, uint64_t now_ns);

/* One connection more; false: too many. */
bool share__enter(struct share *u);
void share__leave(struct share *u);
/* So many bytes more wait for a reader; false: too many. u NULL: root. */
bool share__hold(struct share *u, size_t bytes);
void share__let_go(struct share *u, size_t bytes);
/* Whether anything may be done for the user now, and what was done. u NULL: root. */
bool share__may_work(struct share *u, uint64_t now_ns);
void share__worked(struct share *u, double messages);

#endif
