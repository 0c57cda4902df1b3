// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples of what threads execute: a software clock on every CPU. The page that the code is in
 * tells the kind of its file, once user space has read the process's memory map. Until then the
 * sample goes to user space with the top of its stack. So does a sample in the C library or in the
 * kernel, where only the caller tells for whom the code works.
 */
#include "bpf/at_once.bpf.h"
#include "bpf/clock.bpf.h"
#include "bpf/slice.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/task.bpf.h"

#define PAGE_SHIFT 12

/* What the kernel gives to programs of a perf event: the registers where it interrupted. */
#if defined(__TARGET_ARCH_x86)
struct sample_context {
	u64 regs[16];
	u64 ip, cs, flags, sp, ss;
};
#define LINK(regs) 0
#elif defined(__TARGET_ARCH_arm64)
struct sample_context {
	u64 regs[31];
	u64 sp, ip, pstate;
};
#define LINK(r) ((r)->regs[30])
#endif

/* Where a thread is in its program. */
struct place {
	u64 ip, sp, link;
	bool kernel;
};

#if defined(LINK)
static __always_inline bool find_place(struct sample_context *ctx, struct task_struct *p,
				       struct place *at)
{
	struct pt_regs *regs;

	/* once: the compiler must not make a pointer into the context of it */
	at->ip = *(volatile u64 *)&ctx->ip;
	at->kernel = (s64)at->ip < 0;
	if (!at->kernel) {
		at->sp = *(volatile u64 *)&ctx->sp;
#if defined(__TARGET_ARCH_arm64)
		at->link = *(volatile u64 *)&ctx->regs[30];
#endif
		return true;
	}
	if (!jp_regs || (p->flags & PF_NO_REGISTERS) || !p->mm)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
#if defined(__TARGET_ARCH_arm64)
	at->ip = regs->pc;
	at->link = regs->regs[30];
#else
	at->ip = regs->ip;
#endif
	at->sp = regs->sp;
	return true;
}
#else
struct sample_context;
static __always_inline bool find_place(struct sample_context *ctx, struct task_struct *p,
				       struct place *at)
{
	return false;
}
#endif

static __always_inline void count(u32 slot, u32 module)
{
	struct jp_samples *s = bpf_map_lookup_elem(&jp_samples, &slot);

	if (s && module < JP_MODULES)
		__sync_fetch_and_add(&s->module[module], 1);
}

static __always_inline void hand_over(const struct jp_page_key *key, const struct place *at,
				      u32 slot, u32 known, u64 flags)
{
	struct jp_sample s = {
		.at = *key, .slot = slot, .kernel = at->kernel, .known = known, .ip = at->ip};
	struct jp_slot *info = slot_info(slot);

	if (!info)
		return;
	s.gen = info->gen;
	s.stack[0] = at->link;
	bpf_probe_read_user(&s.stack[1], sizeof(s.stack) - sizeof(s.stack[0]), (void *)at->sp);
	if (bpf_ringbuf_output(&jp_unbooked, &s, sizeof(s), flags)) {
		count_loss(info->step, JP_LOST_SAMPLES);
		count(slot, at->kernel ? JP_MODULE_KERNEL : JP_MODULE_UNKNOWN);
	}
}

/* Half of the ring may wait for the next row. */
static __always_inline u64 wakeup_of(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline u64 place_of(struct task_struct *p, u64 ip)
{
	struct mm_struct *mm = p->mm;

	if (!mm || !ip)
		return 0;
	if (ip >= mm->start_code && ip < mm->end_code)
		return ip - mm->start_code;
	return (mm->mmap_base - ip) | JP_PLACE_LIBRARY;
}

/* A counter of the family perf can be had at any time. */
#define COUNTS_POINTS ((jp_families & FAM_FOLD) && jp_npmu)

static __noinline int keep_point(struct task_struct *p, struct jp_task *t, u64 ip, u32 module)
{
	u32 slot = t ? t->next_slot : JP_SLOT_NONE, zero = 0;
	struct jp_slot *info = slot_info(slot);
	u64 *period = bpf_map_lookup_elem(&jp_periods, &zero);
	u64 flags = wakeup_of(&jp_points);
	struct jp_counted_point c = {.point = {.time_ns = bpf_ktime_get_ns(),
					       .cpu_ns = cpu_time(p),
					       .faults = p->min_flt + p->maj_flt,
					       .period_ns = period ? *period : 0,
					       .slot = slot,
					       .tgid = p->tgid,
					       .tid = own_number(p),
					       .module = module}};

	if (!info || !t)
		return 0;
	c.point.gen = info->gen;
	c.point.place = place_of(p, ip);
	if (COUNTS_POINTS)
		c.point.events = slice_counts(t, c.count);
	if (bpf_ringbuf_output(&jp_points, &c, c.point.events ? sizeof(c) : sizeof(c.point),
			       flags)) {
		count_loss(info->step, JP_LOST_POINTS);
		return 0;
	}
	if (COUNTS_POINTS && c.point.events) {
		struct jp_pmu *of = pmu_of(slot);

		t->uncounted = 0;
		if (of)
			__sync_fetch_and_add(&of->reads, 1);
	}
	return 0;
}

/* The page of the user's code; false: the thread has none. */
static __always_inline bool find_page(struct sample_context *ctx, struct task_struct *p,
				      struct place *at, struct jp_page_key *key)
{
	if (!find_place(ctx, p, at))
		return false;
	key->page = at->ip >> PAGE_SHIFT;
	key->start_ns = p->group_leader->start_boottime;
	key->tgid = p->tgid;
	key->exec = p->self_exec_id;
	return true;
}

static __always_inline u32 module_of(const struct place *at, const u32 *module)
{
	return at->kernel ? JP_MODULE_KERNEL : module ? *module : JP_MODULE_UNKNOWN;
}

static __always_inline int count_module(struct sample_context *ctx, struct task_struct *p,
					struct jp_task *t)
{
	struct jp_page_key key = {};
	struct place at = {};
	u32 slot = t->next_slot, *module;

	if (!find_page(ctx, p, &at, &key)) {
		count(slot, JP_MODULE_KERNEL);
		return 0;
	}
	module = bpf_map_lookup_elem(&jp_pages, &key);
	if (!module)
		/* those that wait in the ring would keep a plain wakeup from coming */
		hand_over(&key, &at, slot, JP_MODULE_UNKNOWN, BPF_RB_FORCE_WAKEUP);
	else if (*module == JP_MODULE_LIBC || (at.kernel && *module == JP_MODULE_MPI))
		hand_over(&key, &at, slot, *module, wakeup_of(&jp_unbooked));
	else
		count(slot, module_of(&at, module));
	return 0;
}

#if defined(__TARGET_ARCH_arm64)
#define REGS_SIZE (33 * sizeof(u64)) /* of struct pt_regs: what a program has */
#else
#define REGS_SIZE (21 * sizeof(u64))
#endif

/* The stack may end before so much of it is copied. */
static __always_inline void copy_stack(struct jp_stack_copy *c)
{
	c->nstack = 0;
#pragma unroll
	for (u32 i = 0; i < JP_COPY_BYTES / JP_COPY_CHUNK; i++) {
		if (bpf_probe_read_user(c->stack + i * JP_COPY_CHUNK, JP_COPY_CHUNK,
					(void *)(c->sp + i * JP_COPY_CHUNK)))
			return;
		c->nstack += JP_COPY_CHUNK;
	}
}

/* False: there is no room, or no user's stack. */
static __always_inline bool hand_over_stack(void *ctx, struct task_struct *p, u32 slot)
{
	u32 step = step_of(slot);
	struct jp_cgroup_key job = {};
	struct jp_job *other;
	struct jp_stack_copy *c;
	struct pt_regs *regs;
	long k;

	if (!jp_regs || (p->flags & PF_NO_REGISTERS) || !p->mm)
		return false;
	c = bpf_ringbuf_reserve(&jp_copies, sizeof(*c), 0);
	if (!c) {
		count_loss(step, JP_LOST_COPIES);
		return false;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	stack_key(p, slot, JP_CAUSE_NONE, 0, &c->key);
	share_key(step, &job);
	other = bpf_map_lookup_elem(&jp_jobs, &job);
	c->job = other && other->is_other ? other->counted.id : job.id;
	c->sp = regs->sp;
	bpf_probe_read_kernel(c->regs, REGS_SIZE, regs);
	k = bpf_get_stack(ctx, c->kernel, sizeof(c->kernel), 0);
	c->nkernel = k > 0 ? (u32)k >> 3 : 0;
	copy_stack(c);
	bpf_ringbuf_submit(c, 0);
	return true;
}

static __always_inline bool is_skipped(void)
{
	struct jp_stack *count = stack_room(ROOM_OF_COUNT);

	return !count || count->n++ % JP_COPY_EVERY;
}

static __always_inline void take_sample(void *ctx, struct task_struct *p, u32 slot)
{
	struct jp_stack *s = stack_room(ROOM_OF_SAMPLE);
	struct jp_stack_key key;

	if (!s || (jp_unwind && (is_skipped() || hand_over_stack(ctx, p, slot))))
		return;
	stack_key(p, slot, JP_CAUSE_NONE, stack_take(ctx, s), &key);
	stack_add(&key, s, 1, 0);
}

static __always_inline void count_stack(void *ctx, struct task_struct *p, struct jp_task *t)
{
	u64 began = bpf_ktime_get_ns();

	if (!has_stacks(t->next_slot))
		return;
	if (t->maps_wanted != p->self_exec_id + 1) {
		t->maps_wanted = p->self_exec_id + 1;
		emit(JP_EV_MAPS, t->next_slot, p->self_exec_id, p->tgid);
	}
	take_sample(ctx, p, t->next_slot);
	stack_cost(t->next_slot, 1, began);
}

SEC("?perf_event")
int jp_clock(struct sample_context *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = p->pid ? carried(p) : NULL;

	if (!t || !slot_valid(t->next_slot))
		return 0;
	if (jp_families & FAM_STACK)
		count_stack(ctx, p, t);
	if (jp_families & FAM_SAMPLE) {
		count_module(ctx, p, t);
		count_at_once(p, t->next_slot);
	}
	return 0;
}

/*
 * Points have an event of their own, whose times differ from one to the next: a clock with another
 * period four times a second, or a counter of cycles that overflows. So they keep step with no
 * loop, and have no shares of time, which are the other clock's; it makes the pages known.
 */
SEC("?perf_event")
int jp_point(struct sample_context *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct jp_task *t = p->pid ? carried(p) : NULL;
	struct jp_page_key key = {};
	struct place at = {};

	if (!t || !slot_valid(t->next_slot))
		return 0;
	if (find_page(ctx, p, &at, &key))
		keep_point(p, t, at.ip, module_of(&at, bpf_map_lookup_elem(&jp_pages, &key)));
	else
		keep_point(p, t, 0, JP_MODULE_KERNEL);
	return 0;
}
