// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The switch path. The kernel already keeps run time, run-queue delay, switches and migrations
 * per task; here only the difference since the task's last switch is added to its slot. At the
 * tracepoint prev's values are final for the slice that ends: update_curr() has run and the switch
 * is counted. No clock is read: the two times needed for OffCPUDisk and the family wait are the run
 * queue's own clock and sched_info.last_arrival, which is taken from it.
 *
 * A task that is not ours costs one load. If other programs have given it storage, it costs a
 * lookup that finds nothing.
 */
#include "bpf/anew.bpf.h"
#include "bpf/culprit.bpf.h"
#include "bpf/left.bpf.h"
#include "bpf/log2.bpf.h"
#include "bpf/slice.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/wait.bpf.h"

static __always_inline struct jp_sched *sched_of(u32 slot)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;

	return bpf_map_lookup_elem(&jp_sched, &key);
}

static __always_inline void count_wait(u32 slot, u64 delay)
{
	u32 key = bpf_get_smp_processor_id() * jp_nslots + slot;
	struct jp_lat *l = bpf_map_lookup_elem(&jp_lat, &key);
	u32 b = log2_bucket(delay);

	if (l && b < JP_LAT_BUCKETS)
		l->bucket[b]++;
}

/*
 * The task was asked to count elsewhere during the slice that ends: the run time up to the asking
 * stays, the rest and the switch itself go along.
 */
static __noinline int move_slot(struct jp_task *t, u64 runtime)
{
	struct jp_sched *old = slot_valid(t->slot) ? sched_of(t->slot) : NULL;

	if (old) {
		u64 upto = t->move_cpu_ns;

		if (upto > runtime)
			upto = runtime;
		if (upto > t->cpu_ns) {
			old->cpu_ns += upto - t->cpu_ns;
			t->cpu_ns = upto;
		}
		old->tasks_out++;
	} else if (t->cpu_ns < t->move_cpu_ns) {
		t->cpu_ns = t->move_cpu_ns;
	}
	t->slot = t->next_slot;
	return 0;
}

static __always_inline void count_iowait(struct task_struct *p, struct jp_task *t,
					 struct jp_sched *s, u64 now, u64 delay, u64 state)
{
	u64 off = p->sched_info.last_arrival - t->iowait_from;

	if (t->iowait_from && (s64)off > 0 && off > delay)
		s->disk_wait_ns += off - delay;
	t->iowait_from = state && in_iowait(p) ? now : 0;
}

/* t: NULL: since the task began. */
static __always_inline void add_use(const struct task_struct *p, const struct jp_task *t,
				    struct jp_sched *s, u64 runtime, u64 delay)
{
	s->cpu_ns += runtime - (t ? t->cpu_ns : 0);
	s->run_delay_ns += delay;
	s->vol_switches += p->nvcsw - (t ? t->vol_switches : 0);
	s->invol_switches += p->nivcsw - (t ? t->invol_switches : 0);
	s->migrations += p->se.nr_migrations - (t ? t->migrations : 0);
}

static __always_inline void count_end(struct task_struct *p, struct jp_task *t, struct jp_sched *s)
{
	acct_retire(p, t);
	command_end(p, t);
	if (jp_families & FAM_WAIT)
		wait_retire(t);
	s->tasks_out++;
	t->slot = t->next_slot = JP_SLOT_NONE;
}

/* queue: the task's, loaded once (see carried()). r: NULL without the family culprit. */
static __always_inline void harvest(void *ctx, struct task_struct *p, struct cfs_rq *queue,
				    struct jp_task *t, struct jp_ring *r, u32 resting,
				    enum loads how)
{
	u64 now = queue->rq->clock;
	u64 runtime = p->se.sum_exec_runtime;
	u64 delay = p->sched_info.run_delay - t->run_delay_ns;
	u32 pcount = p->sched_info.pcount;
	u64 state = task_state(p);
	struct jp_sched *s;

	if (t->slot == JP_SLOT_SELF)
		clock_compare(now);
	if (t->seen != resting)
		see_anew(p, t, resting);
	if (t->slot != t->next_slot) {
		if (jp_families & FAM_WAIT)
			wait_move(p, queue, t);
		if (jp_families & FAM_BURST)
			burst_move(p, t);
		move_slot(t, runtime);
	}
	if (r && delay && slot_valid(t->slot))
		culprits_leave(r, p, queue, t, delay);
	if (works(FAM_WAIT, resting))
		wait_leave(ctx, p, queue, t, now, delay, state, resting, how);
	if (!slot_valid(t->slot)) {
		sched_bases(p, t);
		return;
	}
	s = sched_of(t->slot);
	if (!s)
		return;
	add_use(p, t, s, runtime, delay);
	s->harvests++;
	if (works(FAM_LATENCY, resting) && pcount - t->pcount == 1)
		count_wait(t->slot, delay);
	if (works(FAM_BURST, resting))
		burst_leave(p, t, now, delay, p->nvcsw != t->vol_switches);
	if (!(jp_families & FAM_WAIT)) /* it knows more of that */
		count_iowait(p, t, s, now, delay, state);
	sched_bases(p, t);
	if (state & TASK_DEAD)
		count_end(p, t, s);
}

/* Only while threads of a tracked cgroup may be without a slot, until user space has swept. */
static __noinline int adopt_late(struct task_struct *next)
{
	struct jp_cgroup *e = resolve(next);

	if (e) {
		if (!carried(next))
			JP_COUNT(late_tasks);
		settle(next, e, false);
	}
	return 0;
}

static __always_inline void count_switch(void *ctx, struct task_struct *prev, struct jp_task *t,
					 struct task_struct *next, enum loads how)
{
	u32 slot = t ? t->next_slot : JP_SLOT_NONE;
	struct cfs_rq *queue = prev->se.cfs_rq;
	struct jp_control *c = control();
	u32 resting = c ? c->resting : 0;
	struct jp_ring *r = NULL;

	if (works(FAM_CULPRIT, resting))
		r = ring_of(bpf_get_smp_processor_id());
	if (t)
		harvest(ctx, prev, queue, t, r, resting, how);
	if (r)
		ring_note(r, prev, slot, queue->rq->clock);
	if (c && c->late)
		adopt_late(next);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(jp_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	count_switch(ctx, prev, carried(prev), next, LOADS_PLAIN);
	return 0;
}

/* In its place for the family wait, where bpf_rdonly_cast is: a kernel without it refuses a program
 * that names it. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(jp_sched_switch_cast, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	count_switch(ctx, prev, carried(prev), next, LOADS_CAST);
	return 0;
}

/* Loaded in its place where counters are read; a program of its own, so that others do not pay for
 * it. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(jp_sched_switch_pmu, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct jp_task *t = carried(prev);
	u64 ran = t ? prev->se.sum_exec_runtime - t->cpu_ns : PMU_ALL;
	u32 slot = t && slot_valid(t->next_slot) ? t->next_slot : JP_SLOT_OTHER;

	if ((jp_families & FAM_SLICES) && t && slot >= JP_SLOT_FIRST)
		slice_end(prev, t, slot, ran);
	pmu_switch(prev, slot, ran, next);
	count_switch(ctx, prev, t, next, LOADS_PLAIN);
	return 0;
}

/* Where typed tracepoints do not load: prev is the current task; late threads wait for the sweep.
 */
SEC("?raw_tp/sched_switch")
int jp_sched_switch_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	struct jp_task *t = carried(prev);
	u32 slot = jp_npmu && t && slot_valid(t->next_slot) ? t->next_slot : JP_SLOT_OTHER;

	if (t)
		harvest(ctx, prev, prev->se.cfs_rq, t, NULL, resting_now(), LOADS_PLAIN);
	if (jp_npmu)
		pmu_switch_raw(slot, prev, (struct task_struct *)ctx->args[2]);
	return 0;
}

/* The slot of a task whose birth nobody has seen, and which held it since its end. */
static __always_inline u32 gone_slot(struct task_struct *p, struct jp_control *c)
{
	u64 key = (u64)p;
	u32 *noted = c->noted ? bpf_map_lookup_elem(&jp_gone, &key) : NULL, slot;
	struct jp_sched *s;

	if (noted) {
		slot = *noted;
		bpf_map_delete_elem(&jp_gone, &key);
		__sync_fetch_and_add(&c->noted, -1);
	} else {
		slot = ended_slot(p);
	}
	s = slot_valid(slot) ? sched_of(slot) : NULL;
	if (s)
		s->tasks_out++;
	return slot;
}

/* The process has ended. Its memory is gone, but for its peak. */
static __always_inline void process_freed(struct task_struct *p, u32 slot, struct jp_acct *a,
					  struct jp_command *c)
{
	const struct signal_struct *sig = p->signal;
	struct jp_slot *info = slot_info(slot);
	u64 maxrss = sig->maxrss, now = bpf_ktime_get_boot_ns();

	ADD(a, forks, 1);
	left_peak(a, maxrss);
	if (c) {
		__sync_fetch_and_add(&c->processes, 1);
		raise(&c->peak, maxrss);
		c->last_seen_ns = now;
	}
	if (!info)
		return;
	info->left_ns = now;
	if (sig->oom_mm)
		ADD(info, oom_kills, 1);
}

/* A task whose birth nobody has seen. */
static __noinline int freed_unseen(struct task_struct *p, struct jp_control *c)
{
	struct jp_command *command = NULL;
	char comm[JP_COMM_LEN] = {};
	struct jp_sched *s;
	struct jp_acct *a;
	u32 slot, step;

	slot = c ? gone_slot(p, c) : JP_SLOT_NONE;
	s = slot_valid(slot) ? sched_of(slot) : NULL;
	a = slot_acct(slot);
	if (!s || !a)
		return 0;
	add_use(p, NULL, s, p->se.sum_exec_runtime, p->sched_info.run_delay);
	acct_add(p, NULL, a);
	ADD(a, exits, 1);
	step = command_step(slot);
	if (step != JP_SLOT_NONE) {
		if (p->pid == p->tgid)
			BPF_CORE_READ_STR_INTO(&comm, p, comm);
		else
			BPF_CORE_READ_STR_INTO(&comm, p, group_leader, comm);
		command = command_find(comm, step);
		command_add(p, NULL, command);
	}
	if (p->pid == p->tgid)
		process_freed(p, slot, a, command);
	return 0;
}

/*
 * The end of a task whose last switch was not seen, as the program of switches rests or has rested.
 * Only the kernel's own accounts are read, which are final. Its run queue may be gone.
 */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(jp_freed, struct task_struct *p)
{
	struct jp_task *t = carried(p);
	struct jp_control *c = control();
	struct jp_sched *s;

	if (!t) {
		if (c && c->unseen)
			freed_unseen(p, c);
		return 0;
	}
	if (c && c->unseen && !(t->flags & JP_TASK_EXITED)) /* the sweep met it while it ended */
		gone_slot(p, c);
	if (t->slot != t->next_slot) {
		if (jp_families & FAM_WAIT)
			wait_retire(t);
		move_slot(t, p->se.sum_exec_runtime);
	}
	s = slot_valid(t->slot) ? sched_of(t->slot) : NULL;
	if (!s)
		return 0;
	add_use(p, t, s, p->se.sum_exec_runtime, p->sched_info.run_delay - t->run_delay_ns);
	count_end(p, t, s);
	return 0;
}
