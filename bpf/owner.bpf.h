/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slot that an event in process context belongs to. */
#ifndef JP_OWNER_BPF_H
#define JP_OWNER_BPF_H

#include "bpf/task.bpf.h"

/* The slot of the task that runs, JP_SLOT_OTHER where it has none. */
static __always_inline u32 current_slot(void)
{
	struct jp_task *t = carried(bpf_get_current_task_btf());

	return t && slot_valid(t->next_slot) ? t->next_slot : JP_SLOT_OTHER;
}

#endif
