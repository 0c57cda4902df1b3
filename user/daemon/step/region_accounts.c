// SPDX-License-Identifier: GPL-2.0-only
/* What is known of the regions of a step's processes, in memory and in the journal. */
#include "daemon/step/region_accounts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal.h"

#define KEY_ACCOUNT "region account" /* pid, id, settled */
#define KEY_LOST    "regions lost"
#define ACCOUNTS    2048 /* as many as there are connections: each process has one at most */

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Most processes come in the order of the last time. */
static struct region_account *find_account(struct region_accounts *a, pid_t pid)
{
	unsigned i, at = a->next;

	for (i = 0; i < a->n; i++, at++) {
		if (at >= a->n)
			at = 0;
		if (a->of[at].pid != pid)
			continue;
		a->next = at + 1;
		return &a->of[at];
	}
	return NULL;
}

const struct region_account *region_accounts__find(struct region_accounts *a, pid_t pid,
						   uint64_t id)
{
	const struct region_account *of = find_account(a, pid);

	return of && of->id == id ? of : NULL;
}

/* Forgets those that will not come back; what the journal does not know of them it gets first. */
static bool make_room(struct region_accounts *a)
{
	unsigned kept = 0, i;
	struct region_account *of;

	if (a->n < a->max)
		return true;
	for (i = 0; i < a->n; i++)
		if (a->of[i].is_new || !has_ended(a->of[i].pid))
			a->of[kept++] = a->of[i];
	a->n = kept;
	if (a->max && a->n <= a->max / 2)
		return true;
	if (a->max >= ACCOUNTS)
		return a->n < a->max;
	of = realloc(a->of, (a->max ? 2 * a->max : 16) * sizeof(*of));
	if (!of)
		return a->n < a->max;
	a->of = of;
	a->max = a->max ? 2 * a->max : 16;
	return true;
}

void region_accounts__set(struct region_accounts *a, pid_t pid, uint64_t id, uint64_t settled)
{
	struct region_account *of = find_account(a, pid);

	if (of && of->id == id && of->settled == settled)
		return;
	if (!of && make_room(a))
		of = &a->of[a->n++];
	if (of)
		*of = (struct region_account){id, settled, pid, true};
}

void region_accounts__free(struct region_accounts *a)
{
	free(a->of);
	memset(a, 0, sizeof(*a));
}

bool region_accounts__has_new(const struct region_accounts *a, uint64_t lost)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->of[i].is_new)
			return true;
	return a->lost_in_frame != lost;
}

void region_accounts__put(struct region_accounts *a, struct journal *j, uint64_t lost)
{
	char text[72];

	for (unsigned i = 0; i < a->n; i++) {
		const struct region_account *of = &a->of[i];

		if (!of->is_new)
			continue;
		snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRIu64, of->pid, of->id,
			 of->settled);
		journal__meta(j, KEY_ACCOUNT, text);
	}
	snprintf(text, sizeof(text), "%" PRIu64, lost);
	if (lost != a->lost_in_frame)
		journal__meta(j, KEY_LOST, text);
	a->lost_in_frame = lost;
}

void region_accounts__end_frame(struct region_accounts *a, enum frame_end end)
{
	for (unsigned i = 0; i < a->n; i++)
		a->of[i].is_new = end != FRAME_WRITTEN;
	if (end != FRAME_WRITTEN)
		a->lost_in_frame = UINT64_MAX;
}

void region_accounts__remember(struct region_accounts *a, const char *key, const char *text,
			       uint64_t *lost)
{
	struct region_account *of;
	uint64_t id, settled;
	pid_t pid;

	if (!strcmp(key, KEY_LOST))
		a->lost_in_frame = *lost = strtoull(text, NULL, 10);
	if (strcmp(key, KEY_ACCOUNT) ||
	    sscanf(text, "%d %" SCNu64 " %" SCNu64, &pid, &id, &settled) != 3 || has_ended(pid))
		return;
	region_accounts__set(a, pid, id, settled);
	of = find_account(a, pid);
	if (of) /* else there was no memory */
		of->is_new = false;
}
