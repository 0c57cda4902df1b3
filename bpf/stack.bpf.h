/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The family stack: where threads are in their programs, while they run (bpf/sample.bpf.c) and
 * while they are blocked for a millisecond and more. How long a gap lasts is known only at the
 * thread's next switch-out, when the thread has another stack. So the stack is taken when the gap
 * begins, but only where the thread's last gap of that cause was long, or there was none; a long
 * gap without a stack counts under its cause alone, so that times stay exact.
 */
#ifndef JP_STACK_BPF_H
#define JP_STACK_BPF_H

#include "bpf/cause.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/share.bpf.h"

#define LONG_GAP_NS 1000000
#define EMPTY_STACK __builtin_offsetof(struct jp_stack, kernel)

enum { ROOM_OF_SWITCH, ROOM_OF_SAMPLE, ROOM_OF_COUNT };

static __always_inline void stack_key(struct task_struct *p, u32 slot, u32 cause, u64 hash,
				      struct jp_stack_key *key)
{
	key->hash = hash;
	key->start_ns = p->group_leader->start_boottime;
	key->tgid = p->tgid;
	key->exec = p->self_exec_id;
	key->slot = slot;
	key->cause = cause;
}

static __always_inline u64 mix(u64 hash, u64 n)
{
	hash = (hash ^ n) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Reads the stack of the task that runs, and returns its hash. */
static __always_inline u64 stack_take(void *ctx, struct jp_stack *s)
{
	long k = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	long u = bpf_get_stack(ctx, s->user, sizeof(s->user), BPF_F_USER_STACK);
	u64 hash = 1;
	u32 i;

	s->nkernel = k > 0 ? (u32)k >> 3 : 0;
	s->nuser = u > 0 ? (u32)u >> 3 : 0;
	for (i = 0; i < JP_STACK_KERNEL && i < s->nkernel; i++)
		hash = mix(hash, s->kernel[i]);
	hash = mix(hash, 0);
	for (i = 0; i < JP_STACK_USER && i < s->nuser; i++)
		hash = mix(hash, s->user[i]);
	return hash ? hash : 1;
}

/* Adds n and ns to the stack with this key. s: its frames, where they were just taken. */
static __always_inline void stack_add(const struct jp_stack_key *key, struct jp_stack *s, u64 n,
				      u64 ns)
{
	struct jp_stack *have = bpf_map_lookup_elem(&jp_stacks, key);

	if (!have && share_take(step_of(key->slot), JP_SHARE_STACKS)) {
		s->n = n;
		s->ns = ns;
		if (!bpf_map_update_elem(&jp_stacks, key, s, BPF_NOEXIST))
			return;
		have = bpf_map_lookup_elem(&jp_stacks, key);
	}
	if (have) {
		__sync_fetch_and_add(&have->n, n);
		__sync_fetch_and_add(&have->ns, ns);
	} else if (n) {
		count_loss(step_of(key->slot), JP_LOST_STACKS);
	}
}

static __always_inline struct jp_stack *stack_room(u32 which)
{
	return bpf_map_lookup_elem(&jp_stack_room, &which);
}

static __always_inline bool has_stacks(u32 slot)
{
	return slot >= JP_SLOT_FIRST && slot < jp_nslots;
}

/* Adds what taking a stack has cost since `began`. */
static __always_inline void stack_cost(u32 slot, u64 samples, u64 began)
{
	struct jp_samples *s = bpf_map_lookup_elem(&jp_samples, &slot);

	if (!s)
		return;
	if (samples)
		__sync_fetch_and_add(&s->stack_samples, samples);
	__sync_fetch_and_add(&s->stack_ns, bpf_ktime_get_ns() - began);
}

/* Counts a gap of `blocked` ns, without the wait for a CPU at its end. */
static __noinline int stack_book(struct task_struct *p, struct jp_task *t, u64 blocked)
{
	struct jp_stack *s = stack_room(ROOM_OF_SWITCH);
	u64 began = bpf_ktime_get_ns();
	struct jp_stack_key key;

	if (!s)
		return 0;
	s->nkernel = s->nuser = 0;
	stack_key(p, t->slot, t->cause, t->stack, &key);
	stack_add(&key, s, 1, blocked);
	stack_cost(t->slot, 0, began);
	return 0;
}

static __always_inline void stack_gap_ends(struct task_struct *p, struct jp_task *t, u64 blocked)
{
	if (t->cause >= JP_CAUSES || !has_stacks(t->slot))
		return;
	if (blocked < LONG_GAP_NS) {
		t->short_gaps |= 1u << (t->cause & 31);
		return;
	}
	t->short_gaps &= ~(1u << (t->cause & 31));
	stack_book(p, t, blocked);
}

static __noinline int stack_of_gap(void *ctx, struct task_struct *p, struct jp_task *t)
{
	struct jp_stack *s = stack_room(ROOM_OF_SWITCH);
	u64 began = bpf_ktime_get_ns();
	struct jp_stack_key key;

	if (!s)
		return 0;
	t->stack = stack_take(ctx, s);
	stack_key(p, t->slot, t->cause, t->stack, &key);
	stack_add(&key, s, 0, 0);
	stack_cost(t->slot, 0, began);
	return 0;
}

static __always_inline void stack_gap_begins(void *ctx, struct task_struct *p, struct jp_task *t)
{
	t->stack = 0;
	if (t->cause < JP_CAUSES && t->cause != JP_CAUSE_THROTTLED && has_stacks(t->slot) &&
	    !(t->short_gaps >> (t->cause & 31) & 1))
		stack_of_gap(ctx, p, t);
}

#endif
