// SPDX-License-Identifier: GPL-2.0-only
/* The time budget in a snapshot: what threads have accounted for, and what they have done since. */
#include "sample/counters.h"
#include "sample/snapshot_internal.h"

/* How much of [from, to] lies in [lo, hi]. */
static uint64_t overlap(uint64_t from, uint64_t to, uint64_t lo, uint64_t hi)
{
	if (from < lo)
		from = lo;
	if (to > hi)
		to = hi;
	return to > from ? to - from : 0;
}

/* Points of a thread's time: off its CPU, waiting for one, on one, now. */
struct span {
	uint64_t out, queued, on, end;
	uint32_t cause;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct span span_of(const struct jp_open *o)
{
	struct span s = {.out = o->out, .end = o->now, .on = o->now, .cause = o->cause};
	uint64_t delay = snapshot_positive(o->delay);

	if (o->running && o->arrived < s.on)
		s.on = o->arrived;
	else if (!o->running && o->queued && o->queued < o->now)
		delay += o->now - o->queued;
	if (s.on < s.out) /* it ran when it was first seen */
		s.on = s.out;
	if (o->cause == JP_CAUSE_NONE)
		delay = s.on - s.out;
	else if (o->cause == JP_CAUSE_THROTTLED)
		delay = s.on - s.out - least(o->held, s.on - s.out);
	s.queued = s.on - least(delay, s.on - s.out);
	return s;
}

static void add_span(uint64_t *v, const struct span *s, uint64_t lo, uint64_t hi, uint64_t ran)
{
	uint64_t on = overlap(s->on, s->end, lo, hi);

	v[T_ON_CPU] += on;
	v[T_STOLEN] += on > ran ? on - ran : 0;
	v[T_CPU_WAIT] += overlap(s->queued, s->on, lo, hi);
	if (s->cause < JP_CAUSES)
		v[T_BLOCKED + s->cause] += overlap(s->out, s->queued, lo, hi);
}

void snapshot_add_wait(struct snapshot *s, const struct jp_task_rec *r)
{
	const struct jp_open *o = &r->open;
	uint64_t *was = r->wait_slot < s->nslots ? s->now[r->wait_slot].v : NULL;
	uint64_t *is = r->sched_slot < s->nslots ? s->now[r->sched_slot].v : NULL;
	uint64_t ran = snapshot_positive(o->ran), moved = 0, from = o->out;
	uint64_t end = least(o->now, s->queue_ns);
	struct span span;

	if (!r->pid) /* a second record of a task that moves: what it left behind */
		return;
	if (was)
		counters__add_wait(&s->now[r->wait_slot], &r->wait);
	if (!o->out || end <= o->out)
		return;
	span = span_of(o);
	if (o->running) /* also between the snapshot's instant and the record's */
		ran -= least(ran, o->now - end);
	if (o->move) {
		from = o->move > o->out ? o->move : o->out;
		moved = snapshot_positive(o->moved);
		if (was)
			add_span(was, &span, o->out, least(from, end), moved);
	}
	if (is)
		add_span(is, &span, from, end, ran > moved ? ran - moved : 0);
}

void snapshot_sum_wait(struct totals *t)
{
	uint64_t *v = t->v;

	v[T_RUNNING] = snapshot_positive(v[T_ON_CPU] - v[T_STOLEN]);
	v[T_THREAD_TIME] = v[T_ON_CPU] + v[T_CPU_WAIT];
	for (int i = 0; i < JP_CAUSES; i++)
		v[T_THREAD_TIME] += v[T_BLOCKED + i];
	v[T_IOWAIT] += v[T_BLOCKED + JP_CAUSE_DISK] + v[T_BLOCKED + JP_CAUSE_FAULT];
}
