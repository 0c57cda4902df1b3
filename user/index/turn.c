/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a user's files is read before it is the others' turn. */
#include "index/turn.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/room.h"

#define JOBS	   500 /* of a first turn; each round doubles it, for each turn lists files anew */
#define DOUBLINGS  10
#define TURN_S	   10
#define FAILING_S  1  /* of files that failed: so much a turn has no consequence */
#define WAIT_TIMES 20 /* as long as these took */
#define WAIT_S_MAX 3600

static double now_s(void)
{
	return (double)clock__boot_ns() / 1e9;
}

void turn_waits__free(struct turn_waits *w)
{
	free(w->v);
	*w = (struct turn_waits){0};
}

static struct turn_wait *wait_of(const struct turn_waits *w, uid_t uid)
{
	for (unsigned i = 0; w && i < w->n; i++)
		if (w->v[i].uid == uid)
			return &w->v[i];
	return NULL;
}

/* Without memory nobody waits. */
static void let_wait(struct read_turn *t, double until_s)
{
	struct turn_wait *w = wait_of(t->waits, t->uid);

	if (!w && !room__grow(&t->waits->v, t->waits->n, 1, sizeof(*w))) {
		w = &t->waits->v[t->waits->n++];
		w->uid = t->uid;
	}
	if (w)
		w->until_s = until_s;
}

enum turn_answer turn__ask(struct read_turn *t, uid_t uid)
{
	const unsigned most = JOBS << (t->round < DOUBLINGS ? t->round : DOUBLINGS);
	const struct turn_wait *w = wait_of(t->waits, uid);
	const double now = now_s();

	if (w && w->until_s > now)
		return TURN_WAITS;
	if (!t->has_begun || t->uid != uid) {
		t->has_begun = true;
		t->uid = uid;
		t->jobs = 0;
		t->failing_s = 0;
		t->until_s = now + TURN_S;
	}
	t->last_s = now;
	if (t->jobs >= most || now >= t->until_s)
		return TURN_LATER;
	t->jobs++;
	return TURN_READ;
}

bool turn__count(struct read_turn *t, bool failed)
{
	const double now = now_s();

	if (failed)
		t->failing_s += now - t->last_s;
	t->last_s = now;
	if (failed && t->waits && t->failing_s > FAILING_S)
		let_wait(t, now + fmin(t->failing_s * WAIT_TIMES, WAIT_S_MAX));
	return now >= t->until_s;
}
