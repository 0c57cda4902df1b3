/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a step used under each program's name. Nothing is counted while a program runs: the kernel's
 * own sums of a thread are added when it ends, and when its process becomes another program by
 * exec. A name is the kernel's comm as exec sets it; threads, and children without an exec, have
 * the name of their process, whatever they call themselves.
 */
#ifndef JP_COMMAND_BPF_H
#define JP_COMMAND_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/share.bpf.h"

/* The step that counts the program names of a slot's tasks; JP_SLOT_NONE: there is none, or its
 * last row is written. */
static __always_inline u32 command_step(u32 slot)
{
	struct jp_slot *info;

	if (slot < JP_SLOT_FIRST)
		return JP_SLOT_NONE;
	info = bpf_map_lookup_elem(&jp_slots, &slot);
	return info && !(info->flags & JP_SLOT_F_DONE) ? info->step : JP_SLOT_NONE;
}

/* The account of a program's name, or the one of all names that have none. */
static __noinline struct jp_command *command_find(const char *comm, u32 step)
{
	struct jp_acct *a = bpf_map_lookup_elem(&jp_acct, &step);
	struct jp_command_key key = {.step = step};
	struct jp_command *c;

	__builtin_memcpy(key.comm, comm, sizeof(key.comm));
	c = bpf_map_lookup_elem(&jp_commands, &key);
	return c ? c : a ? &a->other : NULL;
}

/* Finds or makes the account, in process context: at an exec, or when a thread ends. No account is
 * made for the 65th name of a step, nor when the job has its share of accounts. */
static __noinline struct jp_command *command_make(const char *comm, u32 step)
{
	struct jp_acct *a = bpf_map_lookup_elem(&jp_acct, &step);
	struct jp_command_key key = {.step = step};
	struct jp_command *c, none = {};

	if (!a)
		return NULL;
	__builtin_memcpy(key.comm, comm, sizeof(key.comm));
	c = bpf_map_lookup_elem(&jp_commands, &key);
	if (c)
		return c;
	none.first_seen_ns = none.last_seen_ns = bpf_ktime_get_boot_ns();
	/* names that come at the same time may be a few more: that does no harm */
	if (a->commands < JP_COMMANDS && !a->lost[JP_LOST_NAMES]) {
		if (!share_take(step, JP_SHARE_NAMES))
			count_loss(step, JP_LOST_NAMES);
		else if (!bpf_map_update_elem(&jp_commands, &key, &none, BPF_NOEXIST))
			__sync_fetch_and_add(&a->commands, 1);
		else
			share_give(step, JP_SHARE_NAMES);
		c = bpf_map_lookup_elem(&jp_commands, &key);
		if (c)
			return c;
	}
	if (!a->other.first_seen_ns)
		a->other.first_seen_ns = none.first_seen_ns;
	return &a->other;
}

static __always_inline void command_bases(struct task_struct *p, struct jp_task *t)
{
	t->comm_cpu_ns = p->se.sum_exec_runtime;
	t->comm_run_delay_ns = p->sched_info.run_delay;
	t->comm_read_bytes = p->ioac.rchar;
	t->comm_write_bytes = p->ioac.wchar;
}

#define COMMAND_MORE(c, t, field, n)                               \
	do {                                                       \
		s64 __more = (n) - ((t) ? (t)->comm_##field : 0);  \
		if (__more > 0)                                    \
			__sync_fetch_and_add(&(c)->field, __more); \
	} while (0)

/* t: NULL: the thread has had that name from its begin on. */
static __always_inline void command_add(struct task_struct *p, struct jp_task *t,
					struct jp_command *c)
{
	if (c) {
		COMMAND_MORE(c, t, cpu_ns, p->se.sum_exec_runtime);
		COMMAND_MORE(c, t, run_delay_ns, p->sched_info.run_delay);
		COMMAND_MORE(c, t, read_bytes, p->ioac.rchar);
		COMMAND_MORE(c, t, write_bytes, p->ioac.wchar);
	}
	if (t)
		command_bases(p, t);
}

/* Stores the name of the process, which is its leader's: a thread may have one of its own. */
static __always_inline void command_name(struct task_struct *p, struct jp_task *t)
{
	__builtin_memset(t->comm, 0, sizeof(t->comm));
	BPF_CORE_READ_STR_INTO(&t->comm, p, group_leader, comm);
}

/* A task comes to a slot: born of a profiled task (from), whose name it gets, or from elsewhere. */
static __always_inline void command_begin(struct task_struct *p, struct jp_task *t,
					  const struct jp_task *from)
{
	t->launched = from ? from->launched : JP_UNSEEN;
	if (from && from->comm[0])
		__builtin_memcpy(t->comm, from->comm, sizeof(t->comm));
	else
		command_name(p, t);
}

/* The task goes from one slot to another, maybe of another step, or of none. */
static __noinline int command_move(struct task_struct *p, struct jp_task *t, u32 to)
{
	u32 was = command_step(t->next_slot), will = command_step(to);
	struct jp_command *c;

	if (was == will)
		return 0;
	c = was != JP_SLOT_NONE ? command_make(t->comm, was) : NULL;
	command_add(p, t, c);
	if (c && p->pid == p->tgid)
		__sync_fetch_and_add(&c->processes, 1);
	command_name(p, t);
	return 0;
}

static __always_inline void command_saw(struct jp_command *c, u64 pages)
{
	if (pages > c->peak)
		c->peak = pages;
	c->last_seen_ns = bpf_ktime_get_boot_ns();
}

/* p has become another program. For the memory see left_by_exec(). */
static __always_inline int command_exec(struct task_struct *p, struct jp_task *t)
{
	u64 maxrss = BPF_CORE_READ(p, signal, maxrss);
	u32 step = command_step(t->next_slot);
	struct jp_command *c;

	if (step == JP_SLOT_NONE)
		return 0;
	c = command_make(t->comm, step);
	command_add(p, t, c);
	if (c)
		command_saw(c, (t->flags & JP_TASK_MEMORY) && maxrss > t->maxrss ? maxrss : 0);
	command_name(p, t);
	c = command_make(t->comm, step);
	if (c)
		command_saw(c, 0);
	return 0;
}

/* A thread is ending, the last of its process or not; its times are added when it has left the CPU.
 * For the memory, and before, see left_by_exit(). */
static __always_inline int command_exit(struct task_struct *p, const struct signal_struct *sig,
					u32 slot, const char *comm, u64 before, bool last)
{
	u64 maxrss = sig->maxrss, pages = 0;
	u32 step = command_step(slot);
	struct jp_command *c;

	if (step == JP_SLOT_NONE)
		return 0;
	c = command_make(comm, step);
	if (!c)
		return 0;
	if (last) {
		__sync_fetch_and_add(&c->processes, 1);
		if (maxrss > before)
			pages = maxrss;
		else if (!p->vfork_done)
			pages = BPF_CORE_READ(p, mm, hiwater_rss); /* 0 without memory */
	}
	command_saw(c, pages);
	return 0;
}

/* The last switch of a thread: the run queue's lock is held, so no account is made here. */
static __always_inline int command_end(struct task_struct *p, struct jp_task *t)
{
	u32 step = command_step(t->slot);

	if (step != JP_SLOT_NONE)
		command_add(p, t, command_find(t->comm, step));
	return 0;
}

#endif
