// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel side has reported: events of its ring, and what was lost of them. */
#include "daemon/kernel_events.h"

#include "base/log.h"
#include "daemon/attach.h"
#include "daemon/daemon_state.h"
#include "daemon/step_cgroup.h"
#include "daemon/step_list.h"

static void task_ended(struct daemon *d, uint32_t slot)
{
	const struct jp_slot *info = kern__slot(d->env.k, slot);

	if (info && d->nended < ENDED_MAX)
		d->ended[d->nended] = info->step;
	d->nended += info != NULL;
}

static bool has_ended_task(const struct daemon *d, const struct step *s)
{
	for (unsigned i = 0; i < d->nended && i < ENDED_MAX; i++)
		if (d->ended[i] == s->slot)
			return true;
	return d->nended > ENDED_MAX;
}

/* Of steps without one, what is remembered is what was there when a task of their own ended. */
static void remember_ended(struct daemon *d, bool only_new)
{
	for (struct step *s = d->nended ? d->steps : NULL; s; s = s->next)
		if (has_ended_task(d, s) && !(only_new && s->have_last_cg))
			step__remember_cgroup(s, &d->env);
}

static void on_event(const struct jp_event *ev, void *ctx)
{
	struct daemon *d = ctx;

	if (ev->type == JP_EV_WAKE)
		d->wake = true;
	else if (ev->type == JP_EV_LATE)
		d->sweep = true;
	else
		d->sync = true;
	if (ev->type == JP_EV_EXIT)
		task_ended(d, ev->slot);
}

/* Handles every event since the last turn. They are looked for in every turn: a reader that has
 * just caught up may miss being woken. */
void daemon_take_events(struct daemon *d, uint64_t now)
{
	uint64_t lost;

	kern__events(d->env.k, on_event, d);
	remember_ended(d, false); /* first: directories are removed within a millisecond */
	lost = kern__control(d->env.k)->stats.rb_lost;
	if ((d->wake || (d->sync && daemon_counts_any(d))) && d->opts.families &&
	    !kern__attached(d->env.k)) {
		d->idle_since_ns = 0;
		if (!daemon_attach(d->env.k))
			daemon_rescan(d, now);
	}
	if (lost != d->rb_lost_seen) {
		log_warn("%llu events did not fit the ring: looking at the cgroups instead",
			 (unsigned long long)(lost - d->rb_lost_seen));
		d->rb_lost_seen = lost;
		daemon_rescan(d, now);
	}
	if (d->sweep && kern__attached(d->env.k) && kern__sweep(d->env.k))
		log_error("%s", kern__error());
	if (d->sync || !daemon_in_sync(d))
		daemon_sync_steps(d);
	remember_ended(d, true);
	d->wake = d->sweep = d->sync = false;
	d->nended = 0;
}
