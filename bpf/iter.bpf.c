// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * User space runs these programs to read what the living tasks of tracked slots have used since
 * they came there. The programs change nothing in these tasks: retired totals (bpf/life.bpf.c) plus
 * these records are the whole use. A pass over the tasks of the node finds them all, for any number
 * of readers at once. The owner of the maps may instead ask for the tasks that it knows, by number.
 */
#include "bpf/anew.bpf.h"
#include "bpf/culprit.bpf.h"
#include "bpf/rss.bpf.h"
#include "bpf/task.bpf.h"

/* Fills in what this thread has not yet added to its mm. */
static __always_inline void fill_unsynced(struct task_struct *p, struct jp_task_rec *rec)
{
	struct task_struct___split *old = (void *)p;

	if (!bpf_core_field_exists(old->rss_stat))
		return;
	rec->rss_file = (s32)BPF_CORE_READ(old, rss_stat.count[0]);
	rec->rss_anon = (s32)BPF_CORE_READ(old, rss_stat.count[1]);
	rec->swap = (s32)BPF_CORE_READ(old, rss_stat.count[2]);
	rec->rss_shmem = (s32)BPF_CORE_READ(old, rss_stat.count[3]);
}

static __always_inline void fill_memory(struct task_struct *p, struct jp_task_rec *rec)
{
	struct mm_struct *mm = BPF_CORE_READ(p, mm);
	struct rss_sum rss = {};

	fill_unsynced(p, rec);
	/* once per process: by its leader, unless that has gone and left threads behind */
	if (!mm || (p->pid != p->tgid && BPF_CORE_READ(p, group_leader, mm)))
		return;
	read_rss(mm, &rss);
	rec->mm = (u64)mm;
	rec->rss_file += rss.pages[0];
	rec->rss_anon += rss.pages[1];
	rec->swap += rss.pages[2];
	rec->rss_shmem += rss.pages[3];
	rec->total_vm = BPF_CORE_READ(mm, total_vm);
	rec->hiwater_rss = BPF_CORE_READ(mm, hiwater_rss);
	if (bpf_core_field_exists(mm->hugetlb_usage)) /* else this kernel has no such pages */
		rec->hugetlb = BPF_CORE_READ(mm, hugetlb_usage.counter);
}

static __always_inline void fill_sched(struct task_struct *p, struct jp_task *t,
				       struct jp_task_rec *rec)
{
	u64 moved = t->slot != t->next_slot ? t->move_cpu_ns : 0;

	/* where the next switch will count it: what was once reported for a slot must not be taken
	 * back
	 */
	rec->sched_slot = t->next_slot;
	if (t->next_slot == JP_SLOT_NONE)
		return;
	/* bases first: a switch in between must not make the difference negative */
	rec->cpu_ns = t->cpu_ns > moved ? t->cpu_ns : moved;
	rec->run_delay_ns = t->run_delay_ns;
	rec->vol_switches = t->vol_switches;
	rec->invol_switches = t->invol_switches;
	rec->migrations = t->migrations;
	rec->cpu_ns = p->se.sum_exec_runtime - rec->cpu_ns;
	rec->run_delay_ns = p->sched_info.run_delay - rec->run_delay_ns;
	rec->vol_switches = p->nvcsw - rec->vol_switches;
	rec->invol_switches = p->nivcsw - rec->invol_switches;
	rec->migrations = p->se.nr_migrations - rec->migrations;
}

/* Whether the programs of the family have seen the task's last switch. */
static __always_inline bool has_seen(const struct jp_task *t, u32 family)
{
	const u32 of = family | FAM_SCHED | ~JP_REST_FAMILIES;

	return !((t->seen ^ resting_now()) & of);
}

/*
 * Fills in the bases and the run time up to now. A tick brings the run time up to date, and the
 * clocks of the run queue with it. Since that tick the thread has run all the time, unless the
 * hypervisor has stolen time, which the next tick shows.
 */
static __always_inline void fill_open(struct task_struct *p, struct cfs_rq *queue,
				      struct jp_task *t, struct jp_open *o)
{
	struct rq *rq = queue->rq;
	u64 clock = rq->clock;

	o->out = t->out;
	barrier();
	o->cause = t->cause;
	o->delay = p->sched_info.run_delay - t->run_delay_ns;
	o->ran = p->se.sum_exec_runtime - t->cpu_ns;
	o->arrived = p->sched_info.last_arrival;
	o->queued = p->sched_info.last_queued;
	o->throttled = o->cause == JP_CAUSE_THROTTLED ? held_for(p, queue, t) : 0;
	o->running = p->on_cpu;
	o->now = queue_clock();
	if (o->running)
		o->ran += o->now - clock + rq->clock_task - p->se.exec_start;
	if (t->slot == t->next_slot)
		return;
	o->move = t->move_clock;
	o->moved = t->move_cpu_ns - t->cpu_ns;
}

static __always_inline void fill_acct(struct task_struct *p, struct jp_task *t,
				      struct jp_task_rec *rec)
{
	modes(p, &rec->user_ns, &rec->system_ns);
	rec->user_ns -= t->user_ns;
	rec->system_ns -= t->system_ns;
	rec->minor_faults = p->min_flt - t->minor_faults;
	rec->major_faults = p->maj_flt - t->major_faults;
	rec->read_bytes = p->ioac.rchar - t->read_bytes;
	rec->write_bytes = p->ioac.wchar - t->write_bytes;
	rec->read_calls = p->ioac.syscr - t->read_calls;
	rec->write_calls = p->ioac.syscw - t->write_calls;
	rec->disk_read_bytes = p->ioac.read_bytes - t->disk_read_bytes;
	rec->disk_write_bytes = p->ioac.write_bytes - t->disk_write_bytes;
}

static __always_inline void fill_command(struct task_struct *p, struct jp_task *t,
					 struct jp_task_rec *rec)
{
	__builtin_memcpy(rec->comm, t->comm, sizeof(rec->comm));
	/* bases first, as in fill_sched() */
	rec->command_cpu_ns = t->comm_cpu_ns;
	rec->command_run_delay_ns = t->comm_run_delay_ns;
	rec->command_read_bytes = t->comm_read_bytes;
	rec->command_write_bytes = t->comm_write_bytes;
	rec->command_cpu_ns = p->se.sum_exec_runtime - rec->command_cpu_ns;
	rec->command_run_delay_ns = p->sched_info.run_delay - rec->command_run_delay_ns;
	rec->command_read_bytes = p->ioac.rchar - rec->command_read_bytes;
	rec->command_write_bytes = p->ioac.wchar - rec->command_write_bytes;
}

/* Run time before a move that the next switch will carry out: it stays where the task was. */
static __always_inline u64 left_behind(const struct jp_task *t)
{
	if (t->slot == t->next_slot || t->slot == JP_SLOT_NONE || t->move_cpu_ns <= t->cpu_ns)
		return 0;
	return t->move_cpu_ns - t->cpu_ns;
}

static __always_inline void fill_left(struct jp_task *t, u64 ran, struct jp_task_rec *rec)
{
	rec->cpu = JP_CPU_NONE;
	rec->slot = JP_SLOT_NONE;
	rec->sched_slot = t->slot;
	rec->cpu_ns = ran;
}

static __always_inline void fill(struct task_struct *p, struct jp_task *t, struct jp_task_rec *rec)
{
	rec->slot = t->next_slot;
	rec->pid = p->pid;
	rec->tgid = p->tgid;
	rec->cpu = cpu_of(p);
	rec->start_ns = p->start_boottime;
	fill_sched(p, t, rec);
	fill_command(p, t, rec);
	rec->wait_slot = t->slot;
	rec->ended = (t->flags & JP_TASK_EXITED) != 0;
	if (rec->slot != JP_SLOT_NONE && !(t->flags & JP_TASK_EXITED)) {
		rec->runnable = !task_state(p);
		rec->allowed_cpus = p->nr_cpus_allowed;
		fill_acct(p, t, rec);
		fill_memory(p, rec);
	}
}

static __always_inline bool counts_somewhere(const struct jp_task *t)
{
	return t->next_slot != JP_SLOT_NONE || t->slot != JP_SLOT_NONE;
}

/*
 * The parts of a record are written one by one. Each function that writes some of them has only the
 * stack that its caller leaves: all frames on the way to divide() have to fit into the stack.
 *
 * Returns the run-queue delay in the record. left: see left_behind(), 0: the record of the task.
 */
static __noinline u64 put_head(struct seq_file *seq, struct task_struct *p, struct jp_task *t,
			       u64 left)
{
	u64 head[__builtin_offsetof(struct jp_task_rec, open) / sizeof(u64)] = {};
	struct jp_task_rec *rec = (void *)head;

	if (left)
		fill_left(t, left, rec);
	else
		fill(p, t, rec);
	bpf_seq_write(seq, head, sizeof(head));
	return rec->run_delay_ns;
}

static __noinline int put_rest(struct seq_file *seq, struct task_struct *p, struct jp_task *t,
			       u64 delay)
{
	struct cfs_rq *queue = p->se.cfs_rq; /* once: see carried() */
	struct jp_culprits culprits = {};
	struct jp_open open = {};

	if ((jp_families & FAM_WAIT) && has_seen(t, FAM_WAIT))
		fill_open(p, queue, t, &open);
	if ((jp_families & FAM_CULPRIT) && has_seen(t, FAM_CULPRIT))
		culprits_open(p, queue, t, delay, &culprits);
	/* the last one fails if an earlier one did */
	bpf_seq_write(seq, &open, sizeof(open));
	bpf_seq_write(seq, &t->wait, sizeof(t->wait));
	if (bpf_seq_write(seq, &culprits, sizeof(culprits)))
		JP_COUNT(iter_fail);
	return 0;
}

static __always_inline void put_rec(struct seq_file *seq, struct task_struct *p, struct jp_task *t,
				    u64 left)
{
	u64 delay = put_head(seq, p, t, left);

	put_rest(seq, p, t, delay);
}

SEC("?iter/task")
int jp_iter(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *p = ctx->task;
	struct jp_task *t;
	u64 left;

	if (!p)
		return 0;
	t = stored(p);
	if (!t || !counts_somewhere(t))
		return 0;
	left = left_behind(t);
	if (left)
		put_rec(seq, p, t, left);
	put_rec(seq, p, t, 0);
	return 0;
}

/* Exists from 6.2 on, and for programs that are called from 6.10 on; user space has tried it. */
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;

static __always_inline struct jp_asked *asked(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&jp_asked, &zero);
}

static __always_inline struct jp_task_rec *next_rec(struct jp_asked *a)
{
	u32 i = a->nrecs;

	if (i >= 2 * JP_ASK_MAX)
		return NULL;
	a->nrecs = i + 1;
	__builtin_memset(&a->rec[i], 0, sizeof(a->rec[i]));
	return &a->rec[i];
}

static __always_inline void answer(struct jp_asked *a, struct task_struct *p)
{
	struct cfs_rq *queue = p->se.cfs_rq; /* once: see carried() */
	struct jp_task *t = stored(p);
	struct jp_task_rec *rec;
	u64 left;

	if (!t || !counts_somewhere(t))
		return;
	left = left_behind(t);
	rec = left ? next_rec(a) : NULL;
	if (rec)
		fill_left(t, left, rec);
	rec = next_rec(a);
	if (!rec)
		return;
	fill(p, t, rec);
	if ((jp_families & FAM_WAIT) && has_seen(t, FAM_WAIT))
		fill_open(p, queue, t, &rec->open);
	__builtin_memcpy(&rec->wait, &t->wait, sizeof(rec->wait));
	if ((jp_families & FAM_CULPRIT) && has_seen(t, FAM_CULPRIT))
		culprits_open(p, queue, t, rec->run_delay_ns, &rec->culprits);
}

static long ask_one(u32 i, void *ctx)
{
	struct jp_asked *a = asked();
	struct task_struct *p;

	if (!a || i >= JP_ASK_MAX)
		return 1;
	p = bpf_task_from_pid(a->task[i].pid);
	if (!p)
		return 0;
	/* the number may belong to a new task */
	if (p->start_boottime == a->task[i].start_ns)
		answer(a, p);
	bpf_task_release(p);
	return 0;
}

SEC("?syscall")
int jp_ask(void *ctx)
{
	struct jp_asked *a = asked();

	if (!a)
		return 0;
	a->nrecs = 0;
	bpf_loop(a->ntasks, ask_one, NULL, 0);
	return 0;
}

/* Puts every task in the slot its cgroup, or user space by jp_adopt, says. */
SEC("?iter/task")
int jp_sweep(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct jp_cgroup *e;
	struct jp_slot *info;
	struct jp_task *t;
	u32 tgid, *slot;

	if (!p || is_exiting(p))
		return 0;
	t = stored(p);
	if (t)
		see_gap(p, t, resting_now());
	else if (may_be_unseen())
		place_unseen(p, false);
	tgid = p->tgid;
	slot = bpf_map_lookup_elem(&jp_adopt, &tgid);
	if (slot) {
		place(p, *slot, JP_TASK_LINEAGE, false, NULL);
		return 0;
	}
	e = resolve(p);
	if (!e && !stored(p))
		return 0;
	info = e ? slot_info(e->slot) : NULL;
	settle(p, e, info && p->start_boottime >= info->start_ns);
	return 0;
}

/* Programs do not know where this CPU's copy of a per-CPU variable is. User space finds it by
 * subtracting addresses of our own per-CPU array. */
SEC("?iter/bpf_map")
int jp_percpu(struct bpf_iter__bpf_map *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct bpf_map *map = ctx->map;
	struct jp_control *c = control();
	struct jp_pcpu_rec rec = {};
	u32 zero = 0, cpu;

	if (!map || !c || map->id != c->pcpu_id)
		return 0;
	rec.base = (u64)BPF_CORE_READ((struct bpf_array *)map, pptrs[0]);
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (cpu >= jp_ncpus)
			break;
		rec.cpu = cpu;
		rec.addr = (u64)bpf_map_lookup_percpu_elem(&jp_pcpu, &zero, cpu);
		bpf_seq_write(seq, &rec, sizeof(rec));
	}
	return 0;
}
