/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of processes at their end, stored per slot until user space has taken it: a row at an
 * instant at which no process lives shows this. Where two processes end at once, the smaller may
 * stay, so that the value is a lower bound.
 */
#ifndef JP_LEFT_BPF_H
#define JP_LEFT_BPF_H

#include "bpf/rss.bpf.h"
#include "bpf/task.bpf.h"

static __always_inline struct jp_left *left_in(struct jp_acct *a)
{
	if (a->left_acked == a->left_seq)
		__builtin_memset(&a->left, 0, sizeof(a->left));
	ADD(a, left_seq, 1);
	return &a->left;
}

static __always_inline void raise(u64 *to, u64 n)
{
	if (n > *to)
		*to = n;
}

static __always_inline void left_peak(struct jp_acct *a, u64 pages)
{
	raise(&left_in(a)->peak, pages);
	raise(&a->exit_peak, pages);
}

/*
 * Whether the process ends with this thread, which is said of one thread. signal_struct.live has
 * dropped to 0 before the tracepoint, and before 6.16 long before: a thread that has woken up who
 * waits for it there is often overtaken by the others, and comes when live is 0, too.
 */
static __always_inline bool group_exits(struct task_struct *p, const struct signal_struct *sig)
{
	struct jp_task *lead;

	if (sig->live.counter)
		return false;
	lead = stored(p->group_leader);
	if (!lead)
		return true;
	if (lead->ended)
		return false;
	lead->ended = 1;
	return true;
}

/*
 * exec has added the peak of the memory that it replaced to maxrss, which never falls: a program
 * that is smaller than an earlier one of the same process is not seen. The copy of slurmstepd in
 * which a task begins is not memory of the step, nor is the memory that vfork lends.
 */
static __always_inline void left_by_exec(struct task_struct *p, const struct jp_task *t,
					 struct jp_acct *a)
{
	u64 maxrss = BPF_CORE_READ(p, signal, maxrss);

	if ((t->flags & JP_TASK_MEMORY) && maxrss > t->maxrss)
		left_peak(a, maxrss);
}

static __noinline int left_memory(struct mm_struct *mm, struct jp_acct *a)
{
	struct jp_left *left;
	struct rss_sum rss = {};
	s64 pages;

	if (!mm || !a)
		return 0;
	read_rss(mm, &rss);
	pages = rss.pages[0] + rss.pages[1] + rss.pages[3];
	left_peak(a, BPF_CORE_READ(mm, hiwater_rss));
	if (pages <= 0)
		return 0;
	left_peak(a, pages);
	left = left_in(a);
	if ((u64)pages <= left->anon + left->file + left->shmem)
		return 0;
	/* read one after the other, a small one can be below zero */
	left->file = rss.pages[0] > 0 ? rss.pages[0] : 0;
	left->anon = rss.pages[1] > 0 ? rss.pages[1] : 0;
	left->swap = rss.pages[2] > 0 ? rss.pages[2] : 0;
	left->shmem = rss.pages[3] > 0 ? rss.pages[3] : 0;
	left->vm = BPF_CORE_READ(mm, total_vm);
	if (bpf_core_field_exists(mm->hugetlb_usage))
		left->hugetlb = BPF_CORE_READ(mm, hugetlb_usage.counter);
	return 0;
}

/*
 * From 6.16 exit_mm() comes after the tracepoint. Before, only maxrss shows the peak, and only a
 * peak that has grown since the last exec, for maxrss also holds the programs before that exec.
 * before: maxrss at that exec. Called for each task that ends: a load costs less than a helper.
 */
static __always_inline void left_by_exit(struct task_struct *p, const struct signal_struct *sig,
					 u64 before, struct jp_acct *a, bool last)
{
	struct jp_left *left = left_in(a);
	struct mm_struct *mm = p->mm;
	u64 maxrss = sig->maxrss;

	raise(&left->threads, sig->live.counter + 1);
	if (!last)
		return;
	if (!mm) {
		if (maxrss > before)
			left_peak(a, maxrss);
	} else if (!p->vfork_done && maxrss > left->anon + left->file + left->shmem) {
		left_memory(mm, a);
	}
}

#endif
