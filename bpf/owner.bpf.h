/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slot that an event in process context belongs to. */
#ifndef JP_OWNER_BPF_H
#define JP_OWNER_BPF_H

#include "bpf/task.bpf.h"

static __noinline u32 current_unseen(struct task_struct *p)
{
	struct jp_task *from;
	u32 flags;

	return unseen_slot(p, false, &from, &flags);
}

/* The slot of the task that runs, JP_SLOT_OTHER where it has none. */
static __always_inline u32 current_slot(void)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = carried(p);
	u32 slot = t ? t->next_slot : JP_SLOT_NONE;

	if (!t && (resting_now() & JP_REST_BIRTHS))
		slot = current_unseen(p);
	return slot_valid(slot) ? slot : JP_SLOT_OTHER;
}

#endif
