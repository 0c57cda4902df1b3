/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a task is in, by its registers: the call's number (below 0: the task is in
 * none, as after a fault) and its first argument. Programs of 32 bits have other numbers:
 * is_compat().
 */
#ifndef JP_CALL_BPF_H
#define JP_CALL_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2

static __always_inline bool is_compat(struct task_struct *p)
{
	return p->thread_info.status & TS_COMPAT;
}

static __always_inline s32 call_number(struct pt_regs *regs)
{
	return regs->orig_ax;
}

static __always_inline u64 call_first(struct pt_regs *regs)
{
	return regs->di;
}
#elif defined(__TARGET_ARCH_arm64)
#define TIF_32BIT 22

static __always_inline bool is_compat(struct task_struct *p)
{
	return p->thread_info.flags >> TIF_32BIT & 1;
}

static __always_inline s32 call_number(struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline u64 call_first(struct pt_regs *regs)
{
	return regs->orig_x0;
}
#else
/* On other architectures the numbers of calls are not known. */
static __always_inline bool is_compat(struct task_struct *p)
{
	return true;
}

static __always_inline s32 call_number(struct pt_regs *regs)
{
	return -1;
}

static __always_inline u64 call_first(struct pt_regs *regs)
{
	return 0;
}
#endif

#endif
