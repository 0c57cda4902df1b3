// SPDX-License-Identifier: GPL-2.0-only
/* Names and groups of users, kept for a while. */
#include "daemon/lookup/users.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define KNOWN_NS   (300 * NSEC_PER_SEC)
#define UNKNOWN_NS (60 * NSEC_PER_SEC)

static struct user *find_user(struct users *u, uid_t uid)
{
	for (unsigned i = 0; i < USERS_KEPT; i++)
		if (u->kept[i].state != USER_FREE && u->kept[i].uid == uid)
			return &u->kept[i];
	return NULL;
}

static struct user *oldest_user(struct users *u)
{
	struct user *old = &u->kept[0];

	for (unsigned i = 0; i < USERS_KEPT; i++) {
		if (u->kept[i].state == USER_FREE)
			return &u->kept[i];
		if (u->kept[i].at_ns < old->at_ns)
			old = &u->kept[i];
	}
	return old;
}

static bool is_fresh(const struct user *e, uint64_t now_ns)
{
	return now_ns < e->at_ns + (e->state == USER_KNOWN ? KNOWN_NS : UNKNOWN_NS);
}

const struct user *users__find(struct users *u, struct lookups *l, uid_t uid, uint64_t now_ns,
			       int *err)
{
	struct lookup q = {.kind = LOOKUP_USER, .uid = uid};
	struct user *e = find_user(u, uid);
	bool known = e && e->state == USER_KNOWN;

	*err = e && e->state == USER_ASKED ? -EAGAIN : known ? 0 : -ENOENT;
	if (e && is_fresh(e, now_ns))
		return known ? e : NULL;
	if (lookups__ask(l, &q))
		return known ? e : NULL;
	if (known) { /* the old answer is used until there is a newer one */
		e->at_ns = now_ns;
		return e;
	}
	e = e ? e : oldest_user(u);
	*e = (struct user){.state = USER_ASKED, .uid = uid, .at_ns = now_ns};
	*err = -EAGAIN;
	return NULL;
}

void users__answered(struct users *u, uid_t uid, const struct lookup_answer *a, uint64_t now_ns)
{
	struct user *e = find_user(u, uid);

	if (!e || (e->state == USER_KNOWN && a->err && a->err != -ENOENT))
		return;
	e->state = a->err ? USER_UNKNOWN : USER_KNOWN;
	e->at_ns = now_ns;
	e->gid = a->gid;
	memcpy(e->name, a->name, sizeof(e->name));
}
