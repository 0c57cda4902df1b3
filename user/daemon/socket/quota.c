// SPDX-License-Identifier: GPL-2.0-or-later
/* What one user and all users may use of the socket: connections, memory and work. */
#include "daemon/socket/quota.h"

#include <stdlib.h>

/*
 * A rank of an MPI program is a connection that sends 10 rows a second: 384 of them come to 3,840
 * messages a second, and to 6,500 when they all begin at once.
 */
static const struct quota_limits of_user = {
	.peers = 512, .pending = 1 << 20, .rate = 4000, .burst = 8000};
static const struct quota_limits of_all = {
	.peers = 2048, .pending = 8 << 20, .rate = 16000, .burst = 32000};
/* All work is divided by four: one user may take a quarter, and all who are in no step share one.
 */
static const struct quota_limits of_strangers = {
	.peers = 512, .pending = 2 << 20, .rate = 4000, .burst = 8000};
static const struct quota_limits of_accepts = {.rate = 1000, .burst = 2048};

static void init_quota(struct quota *u, const struct quota_limits *limits, uint64_t now)
{
	*u = (struct quota){.limits = limits, .tokens = limits->burst, .tokens_ns = now};
}

void quotas__init(struct quotas *s, size_t files, uint64_t now_ns)
{
	s->users = NULL;
	s->of_all = of_all;
	s->of_user = of_user;
	s->of_strangers = of_strangers;
	if (files / 4 < of_all.peers) {
		s->of_all.peers = files / 4;
		s->of_user.peers = files / 4 * of_user.peers / of_all.peers;
		s->of_strangers.peers = s->of_user.peers;
	}
	init_quota(&s->all, &s->of_all, now_ns);
	init_quota(&s->strangers, &s->of_strangers, now_ns);
	s->strangers.all = &s->all;
	init_quota(&s->accepts, &of_accepts, now_ns);
}

void quotas__free(struct quotas *s)
{
	while (s->users) {
		struct quota *u = s->users;

		s->users = u->next;
		free(u);
	}
}

struct quota *quotas__of_user(struct quotas *s, uid_t uid, bool in_step, uint64_t now_ns)
{
	struct quota *u, *all = in_step ? &s->all : &s->strangers;

	for (u = s->users; u; u = u->next)
		if (u->uid == uid && u->all == all)
			return u;
	u = malloc(sizeof(*u));
	if (!u)
		return NULL;
	init_quota(u, &s->of_user, now_ns);
	u->uid = uid;
	u->all = all;
	u->next = s->users;
	s->users = u;
	return u;
}

static void refill_tokens(struct quota *u, uint64_t now)
{
	if (now > u->tokens_ns)
		u->tokens += (double)(now - u->tokens_ns) * 1e-9 * u->limits->rate;
	u->tokens_ns = now;
	if (u->tokens > u->limits->burst)
		u->tokens = u->limits->burst;
}

void quotas__tidy(struct quotas *s, uint64_t now_ns)
{
	struct quota **at = &s->users;

	while (*at) {
		struct quota *u = *at;

		refill_tokens(u, now_ns);
		if (u->peers || u->tokens < u->limits->burst) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
	}
}

bool quota__connect(struct quota *u)
{
	for (const struct quota *of = u; of; of = of->all)
		if (of->peers >= of->limits->peers)
			return false;
	for (; u; u = u->all)
		u->peers++;
	return true;
}

void quota__disconnect(struct quota *u)
{
	for (; u; u = u->all)
		u->peers--;
}

bool quota__hold(struct quota *u, size_t bytes)
{
	struct quota *of;

	for (of = u; of; of = of->all)
		if (of->pending + bytes > of->limits->pending)
			return false;
	for (of = u; of; of = of->all)
		of->pending += bytes;
	return true;
}

void quota__release(struct quota *u, size_t bytes)
{
	for (; u; u = u->all)
		u->pending -= bytes;
}

bool quota__may_work(struct quota *u, uint64_t now_ns)
{
	for (; u; u = u->all) {
		refill_tokens(u, now_ns);
		if (u->tokens <= 0)
			return false;
	}
	return true;
}

void quota__charge(struct quota *u, double messages)
{
	for (; u; u = u->all)
		u->tokens -= messages;
}
