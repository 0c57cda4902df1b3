// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that begin and end regions which are functions: a uprobe at the entry and one on the
 * return, or two probes that the program has (USDT). Every process that executes the file comes
 * here; regions of processes in steps are reported, or end a burst.
 */
#include "bpf/burst.bpf.h"
#include "bpf/clock.bpf.h"
#include "bpf/task.bpf.h"

/* At the entry the return address is on top of the stack where a call puts it there. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS 8
#else
#define RETURN_ADDRESS 0
#endif

/* User space is woken before the ring is full; its turns read the rest. */
static __always_inline u64 wake_flag(void)
{
	return bpf_ringbuf_query(&jp_crossings, BPF_RB_AVAIL_DATA) >
			       bpf_ringbuf_query(&jp_crossings, BPF_RB_RING_SIZE) / 16
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void cross_wait(struct task_struct *p, struct jp_task *t,
				       const struct jp_crossing *c)
{
	if (c->cookie & JP_REGION_END)
		burst_leave_call(p, t, c->frame);
	else
		burst_enter_call(p, t, c->frame);
}

SEC("?uprobe")
int jp_cross(struct pt_regs *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_crossing c = {.time_ns = bpf_ktime_get_ns(),
				.cookie = bpf_get_attach_cookie(ctx)};
	u32 number = c.cookie & JP_REGION_NUMBER;
	u64 *traps = bpf_map_lookup_elem(&jp_traps, &number);
	struct jp_control *ctl = control();
	struct jp_task *t = carried(p);
	struct jp_slot *info;

	if (traps)
		__sync_fetch_and_add(traps, 1);
	info = t && slot_valid(t->next_slot) ? slot_info(t->next_slot) : NULL;
	if (!info || !ctl)
		return 0;
	if (c.cookie & JP_REGION_CALL)
		c.frame = PT_REGS_SP(ctx) + (c.cookie & JP_REGION_END ? 0 : RETURN_ADDRESS);
	if (c.cookie & JP_REGION_WAIT) {
		if (jp_families & FAM_BURST && t->slot == t->next_slot)
			cross_wait(p, t, &c);
		return 0;
	}
	c.cpu_ns = cpu_time(p);
	c.faults = p->min_flt + p->maj_flt;
	c.lost = ctl->stats.crossings_lost;
	c.slot = t->next_slot;
	c.gen = info->gen;
	c.tgid = p->tgid;
	c.tid = own_number(p);
	if (bpf_ringbuf_output(&jp_crossings, &c, sizeof(c), wake_flag()))
		JP_COUNT(crossings_lost);
	return 0;
}
