/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which slot a task counts in, and the bases its counts start from. */
#ifndef JP_TASK_BPF_H
#define JP_TASK_BPF_H

#include "bpf/cause.bpf.h"
#include "bpf/clock.bpf.h"
#include "bpf/command.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/pmu.bpf.h"

#define UPID_SIZE 16 /* struct upid has more than its number */

static __always_inline struct jp_slot *slot_info(u32 slot)
{
	return bpf_map_lookup_elem(&jp_slots, &slot);
}

static __always_inline struct jp_acct *slot_acct(u32 slot)
{
	return bpf_map_lookup_elem(&jp_acct, &slot);
}

static __always_inline bool slot_valid(u32 slot)
{
	return slot < jp_nslots;
}

#define ADD(p, field, n) __sync_fetch_and_add(&(p)->field, (n))

static __always_inline void emit(u32 type, u32 slot, u32 gen, u32 pid)
{
	struct jp_event ev = {
		.type = type,
		.slot = slot,
		.gen = gen,
		.pid = pid,
		.time_ns = bpf_ktime_get_boot_ns(),
	};

	if (bpf_ringbuf_output(&jp_events, &ev, sizeof(ev), 0))
		JP_COUNT(rb_lost);
}

#define CGROUP_DEPTH 16 /* directories of a job that are searched upwards */

/* The entry of a cgroup, or that of the nearest cgroup above it that has one: not all directories
 * that a job makes have an entry. */
static __noinline struct jp_cgroup *find_entry(struct cgroup *cgrp, u32 hier)
{
	struct jp_cgroup_key key = {.hier = hier};
	struct jp_cgroup *e = NULL;
	int i;

	for (i = 0; i < CGROUP_DEPTH && cgrp; i++) {
		key.id = BPF_CORE_READ(cgrp, kn, id);
		e = bpf_map_lookup_elem(&jp_cgroups, &key);
		if (e)
			break;
		cgrp = BPF_CORE_READ(cgrp, self.parent, cgroup);
	}
	return e;
}

/* The entry of a task's cgroup, in the hierarchy that has the layout. */
static __always_inline struct jp_cgroup *resolve(struct task_struct *p)
{
	struct css_set *cset = BPF_CORE_READ(p, cgroups);
	int i;

	for (i = 0; i < JP_CARRIERS; i++) {
		struct jp_cgroup *e;
		struct cgroup *cgrp;
		s32 ssid;

		if (i >= jp_ncarriers)
			break;
		ssid = jp_carriers[i].ssid;
		if (ssid < 0) {
			cgrp = BPF_CORE_READ(cset, dfl_cgrp);
		} else {
			struct cgroup_subsys_state *css = NULL;

			bpf_probe_read_kernel(
				&css, sizeof(css),
				(void *)cset + bpf_core_field_offset(struct css_set, subsys) +
					ssid * sizeof(void *));
			cgrp = BPF_CORE_READ(css, cgroup);
		}
		e = find_entry(cgrp, jp_carriers[i].hier);
		if (e && e->slot != JP_SLOT_NONE)
			return e;
	}
	return NULL;
}

/* The ticks of a thread that ran for less than this say nothing; their sum over many is right. */
#define MODES_MIN_NS 100000000

/*
 * A thread that timers wake may be missed by every tick, or met by every tick. So the ticks of its
 * whole life are scaled to its CPU time, as cputime_adjust() does, and its modes have the weight
 * that they should have beside those of other threads. User space scales the sum (totals__split).
 */
static __always_inline void modes(struct task_struct *p, u64 *user, u64 *system)
{
	u64 run = p->se.sum_exec_runtime, ticks = p->utime + p->stime, part;

	*user = p->utime;
	*system = p->stime;
	if (run < MODES_MIN_NS || !(ticks >> 12))
		return;
	part = (p->stime >> 12 << 20) / (ticks >> 12); /* of 2^20; room for 2 years of ticks */
	*system = (run >> 20) * part + ((run & 0xfffff) * part >> 20);
	*user = run - *system;
}

static __always_inline void acct_bases(struct task_struct *p, struct jp_task *t)
{
	modes(p, &t->user_ns, &t->system_ns);
	t->minor_faults = p->min_flt;
	t->major_faults = p->maj_flt;
	t->read_bytes = p->ioac.rchar;
	t->write_bytes = p->ioac.wchar;
	t->read_calls = p->ioac.syscr;
	t->write_calls = p->ioac.syscw;
	t->disk_read_bytes = p->ioac.read_bytes;
	t->disk_write_bytes = p->ioac.write_bytes;
}

static __always_inline void sched_bases(struct task_struct *p, struct jp_task *t)
{
	t->cpu_ns = p->se.sum_exec_runtime;
	t->run_delay_ns = p->sched_info.run_delay;
	t->pcount = p->sched_info.pcount;
	t->vol_switches = p->nvcsw;
	t->invol_switches = p->nivcsw;
	t->migrations = p->se.nr_migrations;
}

/* Atomic adds cost more than this question, and most short tasks have done few of these things. */
#define ADD_MORE(a, t, field, n)                           \
	do {                                               \
		s64 __more = (n) - ((t) ? (t)->field : 0); \
		if (__more > 0)                            \
			ADD(a, field, __more);             \
	} while (0)

/* Adds what the task has used since its bases (t; NULL: since it began) to these totals. */
static __always_inline void acct_add(struct task_struct *p, const struct jp_task *t,
				     struct jp_acct *a)
{
	u64 user, system;

	modes(p, &user, &system);
	ADD_MORE(a, t, user_ns, user);
	ADD_MORE(a, t, system_ns, system);
	ADD_MORE(a, t, minor_faults, p->min_flt);
	ADD_MORE(a, t, major_faults, p->maj_flt);
	ADD_MORE(a, t, read_bytes, p->ioac.rchar);
	ADD_MORE(a, t, write_bytes, p->ioac.wchar);
	ADD_MORE(a, t, read_calls, p->ioac.syscr);
	ADD_MORE(a, t, write_calls, p->ioac.syscw);
	ADD_MORE(a, t, disk_read_bytes, p->ioac.read_bytes);
	ADD_MORE(a, t, disk_write_bytes, p->ioac.write_bytes);
}

/* Adds what the task has used since its bases to its slot's retired totals, and moves the bases. */
static __always_inline void acct_retire(struct task_struct *p, struct jp_task *t)
{
	struct jp_acct *a = slot_acct(t->next_slot);

	if (a)
		acct_add(p, t, a);
	acct_bases(p, t);
}

/* Counts a task into a slot; undone by tasks_out when the task moves on or ends. */
static __always_inline void enter(u32 slot)
{
	struct jp_acct *a = slot_acct(slot);

	if (a) {
		ADD(a, tasks_in, 1);
		ADD(a, life_events, 1);
	}
}

/* The thread's number, as the thread itself knows it. */
static __always_inline u32 own_number(struct task_struct *p)
{
	struct pid *pid = p->thread_pid;
	u32 level = pid->level;
	int nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      UPID_SIZE * (level & 31));
	return nr;
}

/* The CPU that the task runs on, or ran on last. */
static __always_inline u32 cpu_of(struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return BPF_CORE_READ((struct task_struct___cpu *)p, cpu);
}

/* Places a task that carries nothing yet. The task may run meanwhile, so that it counts only when
 * all is filled in (ready): the program's stack has no room for an initial value. */
static __noinline int place_new(struct task_struct *p, const struct jp_task *from, u32 slot,
				u32 flags, bool born)
{
	struct jp_task *t =
		bpf_task_storage_get(&jp_tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t) {
		JP_COUNT(storage_fail);
		return 0;
	}
	t->slot = t->next_slot = slot;
	t->flags = flags;
	t->seen = resting_now();
	if (!born) {
		sched_bases(p, t);
		acct_bases(p, t);
		command_bases(p, t);
	}
	t->burst_ran = t->cpu_ns;
	t->call_frame = from ? from->call_frame : 0; /* it makes the calls that its maker makes */
	command_begin(p, t, from);
	if (jp_families & FAM_WAIT) {
		t->cause = born ? JP_CAUSE_OTHER : cause_of(p, task_state(p), LOADS_HELPER);
		t->out = queue_clock();
	}
	barrier();
	t->ready = 1;
	enter(slot);
	return 0;
}

/* place() without the counters that belong to the CPU. */
static __always_inline void place_task(struct task_struct *p, u32 slot, u32 flags, bool born,
				       const struct jp_task *from)
{
	struct jp_task *t = stored(p);

	if (!t) {
		if (slot != JP_SLOT_NONE)
			place_new(p, from, slot, flags, born);
		return;
	}
	if (from) /* a sweep met it before this program had its maker */
		t->launched = from->launched;
	flags |= t->flags & JP_TASK_MEMORY;
	if (t->next_slot == slot) {
		t->flags = flags;
		return;
	}
	acct_retire(p, t);
	command_move(p, t, slot);
	if (t->next_slot != t->slot) {
		/* it was moved twice before a switch: the slot between never had it */
		struct jp_acct *a = slot_acct(t->next_slot);

		if (a)
			ADD(a, tasks_in, -1);
	}
	if (slot != t->slot)
		enter(slot);
	t->move_cpu_ns = p->se.sum_exec_runtime;
	if (jp_families & FAM_WAIT)
		t->move_clock = queue_clock();
	t->flags = flags;
	t->next_slot = slot;
}

/*
 * p was given another slot while it may be running. Where p itself runs this, the counters are read
 * at once. On another CPU the slice so far stays with the old slot, and a flush of that CPU is
 * requested, because the CPU may not switch for a long time.
 */
static __noinline int pmu_moved(struct task_struct *p, u32 slot)
{
	struct jp_pmu_cpu *c;
	u32 cpu;

	if (p->pid == (pid_t)bpf_get_current_pid_tgid()) {
		c = pmu_cpu();
		if (!c || !c->open || c->busy || c->slot == slot)
			return 0;
		c->busy = 1;
		barrier();
		pmu_read(c, jp_npmu, c->slot, PMU_ALL);
		c->slot = slot;
		barrier();
		c->busy = 0;
	} else if (p->on_cpu) {
		cpu = cpu_of(p);
		c = bpf_map_lookup_elem(&jp_pmu_cpu, &cpu);
		if (c)
			c->moved = 1;
	}
	return 0;
}

/*
 * Makes the task count in slot from now on (JP_SLOT_NONE: nowhere). born: it began after the slot
 * did, so everything it has ever used belongs there; else its present values are the bases. from:
 * what the maker of a new task carries; NULL: the maker is not profiled, or not known.
 */
static __always_inline void place(struct task_struct *p, u32 slot, u32 flags, bool born,
				  const struct jp_task *from)
{
	place_task(p, slot, flags, born, from);
	if (jp_npmu)
		pmu_moved(p, slot_valid(slot) ? slot : JP_SLOT_OTHER);
}

#define PF_EXITING 4

/* A zombie is still in its cgroup: a slot that it got would wait for a last switch forever. */
static __always_inline bool is_exiting(struct task_struct *p)
{
	return p->flags & PF_EXITING;
}

/* The slot that has the root of the task's lineage; NULL: there is none, or the root has exited. */
static __always_inline struct jp_slot *living_lineage(const struct jp_task *t)
{
	struct jp_slot *own = t ? slot_info(t->next_slot) : NULL;

	if (own && own->kind == JP_KIND_RANK)
		own = slot_info(own->task);
	return own && !(own->flags & JP_SLOT_F_EXITED) ? own : NULL;
}

/* Whether a task that leaves all tracked cgroups counts on: as long as its lineage has its root. */
static __always_inline bool follows(const struct jp_task *t)
{
	return jp_follow && living_lineage(t);
}

/* Notes that a task, or one that it makes, goes to a cgroup that is not tracked. */
static __always_inline void note_away(const struct jp_task *t)
{
	struct jp_slot *own = living_lineage(t);

	if (own && !own->away_ns)
		own->away_ns = bpf_ktime_get_boot_ns();
}

/* Places a task of the cgroup with entry e (NULL: outside of all) by what it carries. */
static __always_inline void settle(struct task_struct *p, struct jp_cgroup *e, bool born)
{
	struct jp_task *t = stored(p);
	u32 slot = e ? e->slot : JP_SLOT_NONE;

	if ((t && t->next_slot == JP_SLOT_SELF) || is_exiting(p) || (!e && follows(t)))
		return;
	if (t && e && (t->flags & JP_TASK_LINEAGE)) {
		struct jp_slot *own = slot_info(t->next_slot);

		if (own && own->step == e->step)
			return;
	}
	place(p, slot, 0, born, NULL);
}

/* The slot of a new task; t: what its maker carries. seen: it begins now; else it has lived, and
 * its maker's maker may have been asked. */
static __always_inline u32 slot_of_new(struct task_struct *p, struct task_struct *maker,
				       const struct jp_task *t, u32 *flags, bool seen)
{
	u32 slot = JP_SLOT_NONE;
	struct jp_cgroup *e;
	struct jp_slot *own;

	*flags = 0;
	if (t && t->next_slot != JP_SLOT_SELF) {
		slot = t->next_slot;
		*flags = t->flags & (JP_TASK_LINEAGE | JP_TASK_RANK | JP_TASK_MEMORY);
	}
	/* they differ with CLONE_INTO_CGROUP */
	if ((seen || t) && maker->cgroups == p->cgroups)
		return slot;
	e = resolve(p);
	own = slot_info(slot);
	if (!e) {
		if (seen)
			note_away(t);
		return follows(t) ? slot : JP_SLOT_NONE;
	}
	if (!((*flags & JP_TASK_LINEAGE) && own && own->step == e->step)) {
		slot = e->slot;
		*flags = 0;
	}
	return slot;
}

/* ---- tasks whose birth nobody has seen, as JP_REST_BIRTHS rests
 *
 * Most of them end soon, and what they have used is the kernel's own account, from zero on. They
 * carry nothing: what would be given to them at birth is found where somebody must know it, which
 * is when they become another program, are moved, or end, and for each row. What they would have
 * inherited is that of the next one above who carries something. Once that one has ended, they
 * count where their cgroup does, as do all of a cgroup in which no slot came by descent.
 */
#define MAKERS 3

static __always_inline bool may_be_unseen(void)
{
	struct jp_control *c = control();

	return c && c->unseen;
}

/* moved: its cgroup is not the one that it was born in. from: what its maker carries, or NULL. */
static __always_inline u32 unseen_slot(struct task_struct *p, bool moved, struct jp_task **from,
				       u32 *flags)
{
	struct task_struct *up = p;
	struct jp_task *t = NULL;
	struct jp_slot *info;
	u32 slot;

	for (int i = 0; i < MAKERS && !t; i++) {
		up = up->pid == up->tgid ? up->real_parent : up->group_leader;
		t = carried(up);
	}
	*from = t;
	if (moved && !t)
		return JP_SLOT_NONE;
	slot = slot_of_new(p, moved ? p : up, t, flags, false);
	info = slot_info(slot);
	/* a thread that has come from elsewhere waits for the sweep */
	return info && p->start_boottime >= info->start_ns ? slot : JP_SLOT_NONE;
}

static __always_inline void count_birth(struct task_struct *p, u32 slot)
{
	struct jp_acct *a = slot_acct(slot);

	if (a && p->pid == p->tgid)
		ADD(a, forks, 1);
}

/* As resolve(), for each task that ends: plain loads where they suffice, in cgroup v2. */
static __always_inline struct jp_cgroup *ended_entry(struct task_struct *p)
{
	struct css_set *cset = p->cgroups;
	struct cgroup *cgrp = cset ? cset->dfl_cgrp : NULL;
	struct jp_cgroup_key v2 = {};
	struct jp_cgroup *e;

	if (!cgrp)
		return NULL;
	v2.id = cgrp->kn->id;
	e = bpf_map_lookup_elem(&jp_cgroups, &v2);
	return e && e->slot != JP_SLOT_NONE ? e : resolve(p);
}

/* Where a task that has ended counts, if it carries nothing and its slot did not come by descent.
 */
static __always_inline u32 ended_slot(struct task_struct *p)
{
	struct jp_cgroup *e = ended_entry(p);
	struct jp_slot *info = e ? slot_info(e->slot) : NULL;

	return info && p->start_boottime >= info->start_ns ? e->slot : JP_SLOT_NONE;
}

static __noinline __attribute__((unused)) int place_unseen(struct task_struct *p, bool moved)
{
	struct jp_task *from;
	u32 flags, slot = unseen_slot(p, moved, &from, &flags);

	if (slot == JP_SLOT_NONE)
		return 0;
	place(p, slot, flags, true, from);
	count_birth(p, slot);
	return 0;
}

#endif
