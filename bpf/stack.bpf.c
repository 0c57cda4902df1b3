// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples of stacks: a software clock on every CPU. */
#include "bpf/stack.bpf.h"
#include "bpf/task.bpf.h"

SEC("?perf_event")
int jp_stack_clock(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = p->pid ? carried(p) : NULL;
	struct jp_stack *s = stack_room(ROOM_OF_SAMPLE);
	struct jp_stack_key key;

	if (!t || !s || !has_stacks(t->next_slot))
		return 0;
	stack_key(p, t->next_slot, JP_CAUSE_NONE, stack_take(ctx, s), &key);
	stack_add(&key, s, 1, 0);
	if (t->maps_wanted != p->self_exec_id + 1) {
		t->maps_wanted = p->self_exec_id + 1;
		emit(JP_EV_MAPS, t->next_slot, p->self_exec_id, p->tgid);
	}
	return 0;
}
