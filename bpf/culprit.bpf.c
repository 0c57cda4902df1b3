// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How slots are related, and waiting threads that are moved to another CPU: see bpf/culprit.bpf.h.
 */
#include "bpf/culprit.bpf.h"

/* The slot that a rank's launcher counts in; any other slot is its own. */
static __always_inline struct jp_slot *task_of(struct jp_slot *s)
{
	struct jp_slot *task = s->kind == JP_KIND_RANK ? slot_info(s->task) : NULL;

	return task && task->step == s->step && task->gen == s->task_gen ? task : s;
}

static __always_inline bool is_same_task(struct jp_slot *a, struct jp_slot *b)
{
	a = task_of(a);
	b = task_of(b);
	return a == b || (a->gtid >= 0 && a->gtid == b->gtid);
}

/* A job is a directory, so that it is known as soon as its steps are. */
static __always_inline bool is_same_job(struct jp_slot *a, struct jp_slot *b)
{
	a = slot_info(a->step);
	b = slot_info(b->step);
	return a && b && a->job && a->job == b->job && a->hier == b->hier;
}

static __noinline int count_pair(u32 waits, u32 ran, u64 ns)
{
	struct jp_slot *own = slot_info(waits), *other = slot_info(ran);
	struct jp_pair_key key = {.waits = waits, .ran = ran};
	u64 *v;

	if (own)
		key.waits_gen = own->gen;
	if (other)
		key.ran_gen = other->gen;
	v = bpf_map_lookup_elem(&jp_pairs, &key);
	if (v)
		__sync_fetch_and_add(v, ns);
	else
		bpf_map_update_elem(&jp_pairs, &key, &ns, BPF_NOEXIST);
	return 0;
}

/* What a slot is to another one that waits, enum jp_culprit; the pair of them gets ns, if pairs are
 * counted. Not static: the verifier looks at it once, not at each call. */
__noinline u32 culprit_of(u32 waits, u32 ran, u64 ns)
{
	struct jp_slot *own, *other;

	if (jp_count_pairs && ns)
		count_pair(waits, ran, ns);
	if (ran == waits)
		return JP_BY_SLOT;
	if (ran == JP_SLOT_NONE || ran == JP_SLOT_SELF)
		return JP_BY_SYSTEM;
	if (ran == JP_RAN_IDLE)
		return JP_BY_IDLE;
	own = slot_info(waits);
	other = slot_info(ran);
	if (!own || !other || ran == JP_SLOT_OTHER || other->kind == JP_KIND_NONE)
		return JP_BY_UNKNOWN;
	if (own->step != other->step)
		return is_same_job(own, other) ? JP_BY_OWN_JOB : JP_BY_OTHER_JOBS;
	return is_same_task(own, other) ? JP_BY_TASK : JP_BY_OWN_STEP;
}

/* Goes STRIDE entries back in the ring. Only differences of times, for the verifier does not keep
 * their bounds apart. */
#define STRIDE 16
__noinline int divide_some(struct jp_ring *r, struct waited *w, struct jp_culprits *c)
{
	u64 head, at, left;

	if (!r || !w || !c)
		return 0;
	head = w->head;
	at = w->to;
	left = w->ns;
	for (int i = 1; i <= STRIDE && left; i++) {
		u32 ran = r->ran[(head - i) & RAN_MASK].slot;
		u64 piece = at - r->ran[(head - i - 1) & RAN_MASK].end;

		if ((s64)piece <= 0)
			continue;
		if (piece > left)
			piece = left;
		ran = culprit_of(w->slot, ran, piece * w->pairs);
		if (ran < JP_CULPRITS)
			c->ns[ran] += piece;
		at -= piece;
		left -= piece;
	}
	w->head = head - STRIDE;
	w->to = at;
	w->ns = left;
	return 0;
}

/* Neither this function nor the one above is static: the verifier checks them once, not on each way
 * to them. */
__noinline int divide(struct jp_ring *r, struct waited *w, struct jp_culprits *c)
{
	u64 at;

	if (!r || !w || !c)
		return 0;
	w->head = r->head;
	at = r->ran[(w->head - 1) & RAN_MASK].end;
	if ((s64)(w->to - at) > 0) { /* the program has not run since, see ring_note() */
		u64 piece = w->to - at < w->ns ? w->to - at : w->ns;

		w->ns -= piece;
		w->to = at;
	}
	for (int i = 0; i < JP_RAN / STRIDE - 1 && w->ns; i++)
		divide_some(r, w, c);
	return 0;
}

#define ON_RQ_MIGRATING 2

/* Divides what the thread has waited on the CPU that it is taken from, whose run queue is locked;
 * but for what has run there since the last switch, whose storage cannot be asked for. */
static __always_inline void divide_moved(struct task_struct *p, struct jp_task *t, u64 delay)
{
	struct jp_ring *r = ring_of(cpu_of(p));
	struct waited w = {.ns = delay, .to = p->se.cfs_rq->rq->clock, .slot = t->slot, .pairs = 1};

	if (r && slot_valid(t->slot))
		divide(r, &w, &t->moved_by);
}

/* A thread that waits is moved to another CPU: its delay up to now has been added. */
SEC("?tp_btf/sched_migrate_task")
int BPF_PROG(jp_migrate, struct task_struct *p, int dest_cpu)
{
	struct jp_task *t = carried(p);
	u64 delay, from;

	if (!t || p->on_rq != ON_RQ_MIGRATING)
		return 0;
	delay = p->sched_info.run_delay;
	from = t->lost_delay_ns;
	if (from <= t->run_delay_ns) {
		from = t->run_delay_ns;
		__builtin_memset(&t->moved_by, 0, sizeof(t->moved_by));
	}
	if (delay > from && t->cause != JP_CAUSE_THROTTLED)
		divide_moved(p, t, delay - from);
	t->lost_delay_ns = delay;
	return 0;
}
