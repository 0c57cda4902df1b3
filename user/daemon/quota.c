// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/quota.h"

#include <stdlib.h>

/*
 * A rank of an MPI program is a connection that says 10 rows a second: 384 of them come to 3,840
 * messages a second, and to 6,500 when they all begin at once.
 */
static const struct share_limits of_user = {
	.peers = 512, .pending = 1 << 20, .rate = 4000, .burst = 8000};
static const struct share_limits of_all = {
	.peers = 2048, .pending = 8 << 20, .rate = 16000, .burst = 32000};
static const struct share_limits of_accepts = {.rate = 1000, .burst = 2048};

static void init(struct share *u, const struct share_limits *limits, uint64_t now)
{
	*u = (struct share){.limits = limits, .tokens = limits->burst, .tokens_ns = now};
}

void shares__init(struct shares *s, size_t files, uint64_t now_ns)
{
	s->users = NULL;
	s->of_all = of_all;
	s->of_user = of_user;
	if (files / 4 < of_all.peers) {
		s->of_all.peers = files / 4;
		s->of_user.peers = files / 4 * of_user.peers / of_all.peers;
	}
	init(&s->all, &s->of_all, now_ns);
	init(&s->accepts, &of_accepts, now_ns);
}

void shares__free(struct shares *s)
{
	while (s->users) {
		struct share *u = s->users;

		s->users = u->next;
		free(u);
	}
}

struct share *shares__of(struct shares *s, uid_t uid, uint64_t now_ns)
{
	struct share *u;

	for (u = s->users; u; u = u->next)
		if (u->uid == uid)
			return u;
	u = malloc(sizeof(*u));
	if (!u)
		return NULL;
	init(u, &s->of_user, now_ns);
	u->uid = uid;
	u->all = &s->all;
	u->next = s->users;
	s->users = u;
	return u;
}

static void refill(struct share *u, uint64_t now)
{
	if (now > u->tokens_ns)
		u->tokens += (double)(now - u->tokens_ns) * 1e-9 * u->limits->rate;
	u->tokens_ns = now;
	if (u->tokens > u->limits->burst)
		u->tokens = u->limits->burst;
}

void shares__tidy(struct shares *s, uint64_t now_ns)
{
	struct share **at = &s->users;

	while (*at) {
		struct share *u = *at;

		refill(u, now_ns);
		if (u->peers || u->tokens < u->limits->burst) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		free(u);
	}
}

bool share__enter(struct share *u)
{
	if (u->peers >= u->limits->peers || u->all->peers >= u->all->limits->peers)
		return false;
	u->peers++;
	u->all->peers++;
	return true;
}

void share__leave(struct share *u)
{
	u->peers--;
	u->all->peers--;
}

bool share__hold(struct share *u, size_t bytes)
{
	struct share *of;

	for (of = u; of; of = of->all)
		if (of->pending + bytes > of->limits->pending)
			return false;
	for (of = u; of; of = of->all)
		of->pending += bytes;
	return true;
}

void share__let_go(struct share *u, size_t bytes)
{
	for (; u; u = u->all)
		u->pending -= bytes;
}

bool share__may_work(struct share *u, uint64_t now_ns)
{
	for (; u; u = u->all) {
		refill(u, now_ns);
		if (u->tokens <= 0)
			return false;
	}
	return true;
}

void share__worked(struct share *u, double messages)
{
	for (; u; u = u->all)
		u->tokens -= messages;
}
