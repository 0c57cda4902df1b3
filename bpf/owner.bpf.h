/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who an event in process context belongs to. */
#ifndef JP_OWNER_BPF_H
#define JP_OWNER_BPF_H

#include "bpf/task.bpf.h"

#define PF_IO_WORKER 0x10

/*
 * The slot of the task that runs, JP_SLOT_OTHER where it has none. io_uring's own threads come into
 * being without a fork event; what they do is done for the process whose threads they are.
 */
static __always_inline u32 current_slot(void)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = bpf_task_storage_get(&jp_tasks, p, 0, 0);

	if (!t && (p->flags & PF_IO_WORKER)) {
		struct task_struct *leader = p->group_leader;

		t = bpf_task_storage_get(&jp_tasks, leader, 0, 0);
	}
	return t && slot_valid(t->next_slot) ? t->next_slot : JP_SLOT_OTHER;
}

#endif
