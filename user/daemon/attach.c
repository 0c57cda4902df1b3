// SPDX-License-Identifier: GPL-2.0-only
/* When the kernel side's programs are attached, and when all cgroups are looked at. */
#include "daemon/attach.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon_state.h"

#define RESCAN_NS  (300 * NSEC_PER_SEC)
#define LATE_NS	   (1 * NSEC_PER_SEC)  /* between two looks for those that found no slot, */
#define LATE_SHARE 50		       /* and so many times as long as one takes */
#define DETACH_NS  (60 * NSEC_PER_SEC) /* idle that long: nothing stays on the switch path */

int daemon_attach(struct kern *k)
{
	int err;

	if (kern__attached(k))
		return 0;
	err = kern__attach(k);
	if (err) {
		log_error("%s", kern__error());
		return err;
	}
	kern__probe_network(k);
	return 0;
}

void daemon_rescan(struct daemon *d, uint64_t now)
{
	uint64_t began = clock__boot_ns();

	d->freed_seen = kern__freed(d->env.k);
	if (kern__rescan(d->env.k, NULL))
		log_error("%s", kern__error());
	d->next_rescan_ns = now + RESCAN_NS;
	d->next_late_ns = now + LATE_NS + LATE_SHARE * (clock__boot_ns() - began);
	d->unplaced = kern__unplaced(d->env.k) > 0;
	d->sync = true;
}

/* Cgroups that found all slots taken are looked for when some have been given back. */
void daemon_place_late(struct daemon *d, uint64_t now)
{
	uint64_t exhausted = kern__control(d->env.k)->stats.slots_exhausted;

	d->unplaced |= exhausted != d->exhausted_placed;
	d->exhausted_placed = exhausted;
	if (d->unplaced && kern__attached(d->env.k) && now >= d->next_late_ns &&
	    kern__freed(d->env.k) != d->freed_seen)
		daemon_rescan(d, now);
}

static bool is_ignored(const struct step *s, uint32_t slot)
{
	for (; s; s = s->next)
		if (s->slot == slot)
			return s->state == STEP_IGNORED;
	return false;
}

bool daemon_counts_any(const struct daemon *d)
{
	const uint32_t *used;
	unsigned n, i;

	used = kern__used(d->env.k, &n);
	for (i = 0; i < n; i++)
		if (used[i] >= JP_SLOT_FIRST &&
		    kern__slot(d->env.k, used[i])->state == JP_SLOT_ACTIVE &&
		    !is_ignored(d->steps, kern__slot(d->env.k, used[i])->step))
			return true;
	return false;
}

void daemon_detach_idle(struct daemon *d, uint64_t now)
{
	if (!kern__attached(d->env.k) || d->opts.embedded || !d->idle_since_ns ||
	    now < d->idle_since_ns + DETACH_NS || daemon_counts_any(d))
		return;
	kern__detach(d->env.k);
	log_debug("no step: the programs are detached");
}
