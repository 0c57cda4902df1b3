// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Takes each task over from the programs of another build, or of other settings, which are attached
 * as well. Both leave a task alone that carries nothing for them. So what a task carries for the
 * others is ended and copied in one step: from then on these programs count for it, from the bases
 * that the others had reached, and nothing is lost or counted twice.
 */
#include "bpf/task.bpf.h"

/* of the others' map jp_was, whose value may have another layout */
const volatile __u32 jp_was_bytes = sizeof(struct jp_task);
const volatile __u32 jp_was_ready = __builtin_offsetof(struct jp_task, ready);
const volatile __u32 jp_was_next = __builtin_offsetof(struct jp_task, next_slot);
const volatile struct jp_move jp_moves[JP_MOVES] = {};

#define MOVE(type, i)                                                  \
	if (jp_moves[i].bytes == sizeof(type) &&                       \
	    jp_moves[i].to <= sizeof(struct jp_task) - sizeof(type) && \
	    jp_moves[i].from <= jp_was_bytes - sizeof(type))           \
	*(volatile type *)((void *)t + jp_moves[i].to) = *(volatile type *)(was + jp_moves[i].from)

static __noinline int move_fields(struct jp_task *t, void *was)
{
	int i;

	if (!t || !was)
		return 0;
	for (i = 0; i < JP_MOVES && jp_moves[i].bytes; i++) {
		MOVE(u64, i);
		MOVE(u32, i);
		MOVE(u16, i);
		MOVE(u8, i);
	}
	return 0;
}

/* It was moved to a cgroup that both know: the others' account, which is copied, has it as well. */
static __always_inline void leave_twice(void *was)
{
	struct jp_acct *a = slot_acct(*(u32 *)(was + jp_was_next));

	if (a)
		ADD(a, tasks_in, -1);
}

SEC("?iter/task")
int jp_carry(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct jp_task *t;
	u32 one = 1;
	u16 *ready;
	void *was;

	if (!p || jp_was_ready > jp_was_bytes - sizeof(u16) ||
	    jp_was_next > jp_was_bytes - sizeof(u32))
		return 0;
	was = bpf_task_storage_get(&jp_was, p, NULL, 0);
	if (!was)
		return 0;
	ready = was + jp_was_ready;
	if (!*ready)
		return 0;
	t = bpf_task_storage_get(&jp_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		JP_COUNT(storage_fail);
		return 0;
	}
	*(volatile u16 *)ready = 0;
	barrier();
	if (t->ready) {
		leave_twice(was);
		return 0;
	}
	move_fields(t, was);
	if (!slot_valid(t->next_slot))
		t->slot = t->next_slot = JP_SLOT_NONE;
	barrier();
	t->ready = 1;
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}
