// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts opens and closes that succeeded, where the system call returns. With a tracepoint per
 * call, traced calls pay for the program, and all other calls only for the slow path of the entry
 * code. Kernels without these tracepoints get one program on all returns, which runs at every
 * system call.
 */
#include "bpf/owner.bpf.h"

static __always_inline struct jp_files *files_of_current(void)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + current_slot();

	return bpf_map_lookup_elem(&jp_files, &key);
}

static __always_inline int count_open(long ret)
{
	struct jp_files *f = ret >= 0 ? files_of_current() : NULL;

	if (f)
		ADD(f, opens, 1);
	return 0;
}

static __always_inline int count_close(long ret)
{
	struct jp_files *f = ret >= 0 ? files_of_current() : NULL;

	if (f)
		ADD(f, closes, 1);
	return 0;
}

SEC("?tp/syscalls/sys_exit_open")
int jp_open(struct trace_event_raw_sys_exit *ctx)
{
	return count_open(ctx->ret);
}

SEC("?tp/syscalls/sys_exit_openat")
int jp_openat(struct trace_event_raw_sys_exit *ctx)
{
	return count_open(ctx->ret);
}

SEC("?tp/syscalls/sys_exit_openat2")
int jp_openat2(struct trace_event_raw_sys_exit *ctx)
{
	return count_open(ctx->ret);
}

SEC("?tp/syscalls/sys_exit_creat")
int jp_creat(struct trace_event_raw_sys_exit *ctx)
{
	return count_open(ctx->ret);
}

SEC("?tp/syscalls/sys_exit_close")
int jp_close(struct trace_event_raw_sys_exit *ctx)
{
	return count_close(ctx->ret);
}

/* Calls of 32-bit programs are left out, as the tracepoints above leave them out. */
#if defined(__TARGET_ARCH_x86)
enum { NR_OPEN = 2, NR_CLOSE = 3, NR_CREAT = 85, NR_OPENAT = 257, NR_OPENAT2 = 437 };
#elif defined(__TARGET_ARCH_arm64)
enum { NR_OPEN = -2, NR_CLOSE = 57, NR_CREAT = -3, NR_OPENAT = 56, NR_OPENAT2 = 437 };
#else
enum { NR_OPEN = -2, NR_CLOSE = -3, NR_CREAT = -4, NR_OPENAT = -5, NR_OPENAT2 = -6 };
#endif

SEC("?tp_btf/sys_exit")
int BPF_PROG(jp_sys_exit, struct pt_regs *regs, long ret)
{
	if (is_compat(bpf_get_current_task_btf()))
		return 0;
	switch (call_number(regs)) {
	case NR_CLOSE:
		return count_close(ret);
	case NR_OPEN:
	case NR_CREAT:
	case NR_OPENAT:
	case NR_OPENAT2:
		return count_open(ret);
	default:
		return 0;
	}
}
