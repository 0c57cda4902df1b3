// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots and lineages: a step's cgroup gets its slot inside mkdir(2), before any process can be in
 * it, and a task its lineage inside execve(2), before user code runs. User space only describes
 * what a step's directory looks like, by the layout components of bpf/jobprof.h.
 *
 * cgroup_mkdir fires for every hierarchy under one global lock, so these programs never run in
 * parallel with themselves; when any of them runs, the target's cgroup no longer changes.
 */
#include "bpf/burst.bpf.h"
#include "bpf/env.bpf.h"
#include "bpf/left.bpf.h"
#include "bpf/task.bpf.h"

#define NAME_MAX_MATCH 128 /* container runtimes put 64 hex digits between prefix and suffix */

/* prefix*suffix, or the whole name, which is in the scratch memory; len is its length without its
 * NUL. Not static, and without pointers: see bpf/env.bpf.h. */
__noinline int name_matches(u32 component, u32 len)
{
	struct jp_component *n = bpf_map_lookup_elem(&jp_components, &component);
	struct jp_scratch *s = scratch();
	const char *name;
	u32 plen, slen, i;

	if (!n || !s)
		return false;
	name = s->name;
	plen = n->prefix_len;
	slen = n->suffix_len;
	if (len < plen + slen || ((n->flags & JP_COMPONENT_EXACT) && len != plen))
		return false;
	for (i = 0; i < JP_NAME_LEN; i++) {
		if (i >= plen)
			break;
		if (n->prefix[i] != name[i])
			return false;
	}
	for (i = 0; i < JP_NAME_LEN; i++) {
		if (i >= slen)
			break;
		if (n->suffix[i] != name[(len - slen + i) & (NAME_MAX_MATCH - 1)])
			return false;
	}
	return true;
}

/* Returns the layout component of a new directory with that name below component, 0: none. */
static __always_inline u32 match_child(u32 component, struct cgroup *cgrp)
{
	struct jp_component *parent = bpf_map_lookup_elem(&jp_components, &component);
	struct jp_scratch *s = scratch();
	long len;
	int i;

	if (!parent || !s)
		return 0;
	len = bpf_probe_read_kernel_str(s->name, sizeof(s->name), BPF_CORE_READ(cgrp, kn, name));
	if (len <= 1 || len > NAME_MAX_MATCH)
		return 0;
	for (i = 0; i < JP_COMPONENT_CHILDREN; i++) {
		if (i >= parent->nchild)
			break;
		if (name_matches(parent->child[i], len - 1))
			return parent->child[i];
	}
	return 0;
}

/*
 * A user may have the right to make cgroups below one, and must not make a job of them: a directory
 * that is not root's is counted with the one above. The owner of a directory is the fsuid of the
 * task that makes it.
 */
static __always_inline bool may_have_kind(u32 component)
{
	struct task_struct *maker = bpf_get_current_task_btf();
	struct jp_component *n = bpf_map_lookup_elem(&jp_components, &component);

	return n && (n->flags & JP_COMPONENT_ANYONE || !BPF_CORE_READ(maker, cred, fsuid.val));
}

/* Takes a free slot of the job's share, which user space does not see before slot_publish().
 * Returns 0 when no slot is free. Then a step is counted in slot 0 and in slots_exhausted. A part
 * of a step is counted in the part or step around it, and in the step's lost[]. */
static __noinline u32 slot_alloc(u32 kind, u32 step, const struct jp_cgroup_key *job)
{
	enum jp_share what = kind == JP_KIND_STEP ? JP_SHARE_STEPS : JP_SHARE_SLOTS;
	struct jp_slot *info;
	u32 slot;

	if (!job_take(job, what))
		goto none;
	info = bpf_map_pop_elem(&jp_free, &slot) ? NULL : slot_info(slot);
	if (!info || !slot_valid(slot)) {
		job_give(job, what);
		goto none;
	}
	info->kind = kind;
	info->step = kind == JP_KIND_STEP ? slot : step;
	info->gtid = JP_GTID_NONE;
	info->gtid_source = JP_GTID_UNKNOWN;
	info->start_ns = bpf_ktime_get_boot_ns();
	return slot;
none:
	if (kind == JP_KIND_STEP)
		JP_COUNT(slots_exhausted);
	else if (kind != JP_KIND_LINEAGE)
		count_loss(step, kind == JP_KIND_RANK ? JP_LOST_RANKS : JP_LOST_TASKS);
	return JP_SLOT_OTHER;
}

/* A slot of a task, lineage or rank of the step. */
static __always_inline u32 slot_alloc_in(u32 kind, u32 step)
{
	struct jp_cgroup_key job = {};
	struct jp_control *c = control();

	if (c && kind != JP_KIND_TASK)
		c->descent = 1;
	return share_key(step, &job) ? slot_alloc(kind, step, &job) : JP_SLOT_OTHER;
}

/* Makes the slot visible when all of it is filled in: a reader of the slots in use reads its path
 * only once. */
static __always_inline void slot_publish(struct jp_slot *info)
{
	barrier();
	info->state = JP_SLOT_ACTIVE;
	JP_COUNT(slots_changed);
}

/*
 * slurmstepd writes job and step into its own command line before it makes the step's cgroup, and
 * ends with the step. Only a process of root comes here (may_have_kind()). Users cannot change this
 * text, unlike the environment of a task, and a step without tasks has it too.
 */
static __always_inline void note_title(struct jp_slot *info)
{
	struct task_struct *maker = bpf_get_current_task_btf();

	bpf_probe_read_user_str(info->title, sizeof(info->title),
				(void *)BPF_CORE_READ(maker, mm, arg_start));
}

static __always_inline void describe(const struct jp_cgroup *e, const struct jp_cgroup_key *key,
				     const char *path)
{
	u32 slot = e->slot;
	struct jp_slot *info = slot_info(slot);
	long len;

	if (!info || slot == JP_SLOT_OTHER)
		return;
	info->cgroup_id = key->id;
	info->hier = key->hier;
	info->job = e->job;
	if (e->flags & JP_COMPONENT_NEED_STEPD)
		info->flags |= JP_SLOT_F_ENV;
	if (info->kind == JP_KIND_STEP)
		note_title(info);
	len = bpf_probe_read_kernel_str(info->path, sizeof(info->path), path);
	if (len < 0 || len >= JP_PATH_LEN) {
		JP_COUNT(path_long);
		len = 0;
	}
	info->path_len = len;
	slot_publish(info);
	emit(info->kind == JP_KIND_STEP ? JP_EV_STEP : JP_EV_TASK, slot, info->gen, 0);
}

/* Fills the entry of a directory made below a known one; false: the directory is not followed. */
static __always_inline bool make_entry(const struct jp_cgroup *up, u32 component,
				       const struct jp_cgroup_key *own, struct jp_cgroup *e)
{
	struct jp_cgroup_key job = {.id = up->job ? up->job : own->id, .hier = own->hier};
	struct jp_component *n = component ? bpf_map_lookup_elem(&jp_components, &component) : NULL;

	e->component = component;
	e->step = up->step;
	e->flags = up->flags;
	e->kind = n ? n->kind : JP_KIND_GROUP;
	switch (e->kind) {
	case JP_KIND_PATH:
		e->slot = JP_SLOT_NONE;
		return true;
	case JP_KIND_STEP:
		e->slot = e->step = slot_alloc(JP_KIND_STEP, 0, &job);
		e->flags = n ? n->flags : 0;
		return true;
	case JP_KIND_TASK:
		e->slot = slot_alloc_in(JP_KIND_TASK, up->step);
		if (e->slot == JP_SLOT_OTHER)
			e->slot = up->step;
		return true;
	case JP_KIND_STEPD:
		e->slot = JP_SLOT_NONE;
		return true;
	default:
		/* below the layout: counted with its parent; slurmstepd's directory has no slot */
		e->slot = up->slot;
		if (up->kind == JP_KIND_STEPD)
			e->kind = JP_KIND_STEPD;
		return up->kind != JP_KIND_PATH;
	}
}

static __always_inline bool has_own_slot(const struct jp_cgroup *e)
{
	return e->slot != JP_SLOT_OTHER &&
	       (e->kind == JP_KIND_STEP || (e->kind == JP_KIND_TASK && e->slot != e->step));
}

/* A directory below the layout, which any job may make: its tasks are counted with the directory
 * above. */
static __always_inline bool is_group(const struct jp_cgroup *e)
{
	return !e->component && e->step != JP_SLOT_NONE;
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(jp_cgroup_mkdir, struct cgroup *cgrp, const char *path)
{
	struct jp_cgroup_key key = {.hier = cgrp->root->hierarchy_id};
	struct jp_cgroup_key own = {.hier = key.hier, .id = cgrp->kn->id};
	struct jp_cgroup *up, e = {};
	struct jp_component *n;
	u32 component;

	key.id = BPF_CORE_READ(cgrp, self.parent, cgroup, kn, id);
	up = bpf_map_lookup_elem(&jp_cgroups, &key);
	if (!up)
		return 0;
	component = up->component ? match_child(up->component, cgrp) : 0;
	if (component && !may_have_kind(component))
		component = 0;
	/* a scan may have been here between the directory's birth and now */
	if (bpf_map_lookup_elem(&jp_cgroups, &own) || !make_entry(up, component, &own, &e))
		return 0;
	n = bpf_map_lookup_elem(&jp_components, &component);
	e.job = n && (n->flags & JP_COMPONENT_WAKE) ? own.id : up->job;
	if (is_group(&e) && !share_take(e.step, JP_SHARE_GROUPS))
		return 0; /* find_entry() finds the one above */
	if (bpf_map_update_elem(&jp_cgroups, &own, &e, BPF_NOEXIST)) {
		JP_COUNT(cgroups_full);
		if (is_group(&e))
			share_give(e.step, JP_SHARE_GROUPS);
	}
	if (has_own_slot(&e))
		describe(&e, &own, path);
	if (n && (n->flags & JP_COMPONENT_WAKE))
		emit(JP_EV_WAKE, JP_SLOT_OTHER, 0, 0);
	return 0;
}

SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(jp_cgroup_rmdir, struct cgroup *cgrp, const char *path)
{
	struct jp_cgroup_key key = {.id = cgrp->kn->id, .hier = cgrp->root->hierarchy_id};
	struct jp_cgroup *e = bpf_map_lookup_elem(&jp_cgroups, &key);
	struct jp_slot *info;
	u32 slot;

	if (!e)
		return 0;
	slot = e->slot;
	info = slot_info(slot);
	if (is_group(e))
		share_give(e->step, JP_SHARE_GROUPS);
	if (has_own_slot(e) && info) {
		info->end_ns = bpf_ktime_get_boot_ns();
		if (info->state == JP_SLOT_ACTIVE)
			info->state = JP_SLOT_DRAINING;
		emit(JP_EV_GONE, slot, info->gen, 0);
		if (may_be_unseen()) /* jp_freed needs it, until the slot is given back */
			return 0;
	}
	bpf_map_delete_elem(&jp_cgroups, &key);
	return 0;
}

/* Runs once per move, for the leader; the sweep that this asks for finds the other threads. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(jp_cgroup_attach, struct cgroup *dst, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	u32 hier = dst->root->hierarchy_id;
	struct jp_cgroup *e = find_entry(dst, hier);
	struct jp_task *t = stored(task);
	struct jp_control *c = control();
	struct jp_slot *own;

	if (!t && c && c->unseen) {
		place_unseen(task, true);
		t = stored(task);
	}
	own = t ? slot_info(t->next_slot) : NULL;
	if (e && e->slot == JP_SLOT_NONE)
		e = NULL;
	if (!e && (!own || own->hier != hier))
		return 0;
	if (!e)
		note_away(t);
	settle(task, e, false);
	if (threadgroup && c && BPF_CORE_READ(task, signal, nr_threads) > 1) {
		c->late = 1;
		emit(JP_EV_LATE, e ? e->slot : JP_SLOT_OTHER, 0, task->tgid);
	}
	return 0;
}

/*
 * Every new task comes here, also the threads that io_uring makes for a process, for which
 * sched_process_fork does not fire. The task's cgroup no longer changes, and the task has not run
 * yet.
 */
#define CLONE_VM     0x100
#define CLONE_THREAD 0x10000

SEC("?tp_btf/task_newtask")
int BPF_PROG(jp_fork, struct task_struct *child, u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct jp_task *pt = carried(parent);
	u32 slot, flags;

	slot = slot_of_new(child, parent, pt, &flags, true);
	if (slot == JP_SLOT_NONE)
		return 0;
	if ((clone_flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM)
		flags &= ~JP_TASK_MEMORY;
	place(child, slot, flags, true, pt);
	if (pt) /* the slot of its maker, wherever the task begins */
		count_birth(child, pt->next_slot);
	return 0;
}

static __always_inline bool is_stepd(struct task_struct *p)
{
	char comm[16];

	/* anyone may take the name, only root starts steps */
	if (BPF_CORE_READ(p, cred, uid.val))
		return false;
	BPF_CORE_READ_STR_INTO(&comm, p, comm);
	return same(comm, jp_stepd_comm, sizeof("slurmstepd"));
}

/* The first program of a task: it names the lineage. */
static __always_inline void begin_lineage(struct task_struct *p, struct jp_task *t, int gtid)
{
	u32 slot = t->next_slot;
	struct jp_slot *info = slot_info(slot);
	struct jp_cgroup *e;
	bool fresh = false;

	if (!info)
		return;
	if (info->kind == JP_KIND_STEP || (info->gtid >= 0 && info->gtid != gtid)) {
		u32 step = info->step;
		u64 id = info->cgroup_id;
		u32 hier = info->hier;

		slot = slot_alloc_in(JP_KIND_LINEAGE, step);
		info = slot_info(slot);
		if (slot == JP_SLOT_OTHER || !info) {
			e = resolve(p);
			if (!e || e->kind != JP_KIND_TASK) /* else it was counted at mkdir(2) */
				count_loss(step, JP_LOST_TASKS);
			return;
		}
		info->cgroup_id = id;
		info->hier = hier;
		info->flags |= JP_SLOT_F_ENV;
		fresh = true;
	}
	info->gtid = gtid;
	info->gtid_source = JP_GTID_EXEC;
	info->root_pid = p->tgid;
	info->uid = BPF_CORE_READ(p, cred, uid.val);
	if (fresh)
		slot_publish(info);
	place(p, slot, JP_TASK_LINEAGE, true, NULL);
	emit(JP_EV_TASK, slot, info->gen, p->tgid);
}

/* Anyone can set the variable to any number: a job's ranks are in its share of the slots. */
static __noinline u32 make_rank(const struct jp_slot *task, const struct jp_rank_key *key)
{
	u32 slot = slot_alloc_in(JP_KIND_RANK, task->step), *faster;
	struct jp_slot *info = slot_info(slot);

	if (slot == JP_SLOT_OTHER || !info)
		return JP_SLOT_OTHER;
	if (bpf_map_update_elem(&jp_ranks, key, &slot, BPF_NOEXIST)) {
		/* not published yet, so it has no counts */
		bpf_map_push_elem(&jp_free, &slot, BPF_ANY);
		share_give(task->step, JP_SHARE_SLOTS);
		faster = bpf_map_lookup_elem(&jp_ranks, key);
		if (faster)
			return *faster;
		count_loss(task->step, JP_LOST_RANKS);
		return JP_SLOT_OTHER;
	}
	info->cgroup_id = task->cgroup_id;
	info->hier = task->hier;
	info->uid = task->uid;
	info->rank = key->rank;
	info->task = key->task;
	info->task_gen = key->gen;
	slot_publish(info);
	return slot;
}

/* The first program of a rank. Ranks of one number below one task share a slot: a job may start a
 * launcher many times. */
static __noinline int begin_rank(struct task_struct *p, struct jp_task *t, int rank)
{
	struct jp_slot *task = slot_info(t->next_slot), *info;
	struct jp_rank_key key = {.task = t->next_slot, .rank = rank};
	u32 slot, *had;

	if (!task)
		return 0;
	key.gen = task->gen;
	had = bpf_map_lookup_elem(&jp_ranks, &key);
	slot = had ? *had : make_rank(task, &key);
	info = slot_info(slot);
	if (slot == JP_SLOT_OTHER || !info) {
		t->flags |= JP_TASK_RANK;
		return 0;
	}
	info->rank_pid = p->tgid;
	place(p, slot, JP_TASK_LINEAGE | JP_TASK_RANK, true, NULL);
	return 0;
}

/*
 * A rank begins where a program's environment names one, and the environment of the program before
 * it, in its process or in the process that made it, named none or another. first: the program is
 * the first one in the step, so its task is a rank itself, started by srun. Tasks that ran before
 * jobprof saw them have no ranks. Where the start of the program before was not seen, a variable
 * that srun sets may be the task's own. Returns true when the environment was searched and names no
 * rank.
 */
static __noinline bool note_rank(struct task_struct *p, struct jp_task *t, u32 step, bool first)
{
	struct jp_slot *info = slot_info(step);
	u64 launched, before = t->launched;

	if ((t->flags & JP_TASK_RANK) || !info || (info->flags & JP_SLOT_F_BASE))
		return false;
	launched = env_rank(BPF_CORE_READ(p, mm, env_start), BPF_CORE_READ(p, mm, env_end));
	t->launched = launched;
	if (before == JP_UNSEEN && launched >> 32 > JP_RANK_NAMES_SRUN)
		return false;
	if (!first && launched && launched != before)
		begin_rank(p, t, (int)launched);
	return !launched;
}

/* A launcher adds variables. So a program that has as many variables as an earlier one of the same
 * parent, which was no rank, is no rank either. That saves the search for the commands of a shell,
 * 90 ns per variable. */
static __always_inline void find_ranks(struct task_struct *p, struct jp_task *t, struct jp_task *up,
				       u32 step, bool first, u32 envc)
{
	if (up && envc && up->envc == envc)
		t->launched = 0;
	else if (note_rank(p, t, step, first) && up)
		up->envc = envc;
}

/* Notes the user of a step without tasks (extern): the user of a program in the step that is not
 * root's. Only root moves processes there, and Slurm lets in only the job's user. */
static __always_inline void note_user(struct task_struct *p, struct jp_slot *info)
{
	if (info->kind == JP_KIND_STEP && !info->uid)
		info->uid = BPF_CORE_READ(p, cred, uid.val);
}

/* The first program of a slot without a global task id tells the user, and how the slot ended. */
static __always_inline void note_first(struct task_struct *p, u32 slot, struct jp_slot *info)
{
	if (info->root_pid)
		return;
	info->root_pid = p->tgid;
	info->uid = BPF_CORE_READ(p, cred, uid.val);
	emit(JP_EV_TASK, slot, info->gen, p->tgid);
}

/* A task's first program: its parent is not of its step. */
static __always_inline void begin_task(struct task_struct *p, struct jp_task *t,
				       struct task_struct *parent, struct jp_slot *info)
{
	u64 env = BPF_CORE_READ(p, mm, env_start), env_end = BPF_CORE_READ(p, mm, env_end);
	int gtid;

	if (!(info->flags & JP_SLOT_F_ENV)) {
		keep_env(env, env_end, info->step);
		note_first(p, t->next_slot, info);
		return;
	}
	if (!is_stepd(parent))
		return;
	keep_env(env, env_end, info->step);
	gtid = env_procid(env, env_end);
	if (gtid >= 0)
		begin_lineage(p, t, gtid);
	else
		note_first(p, t->next_slot, info);
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(jp_exec, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm)
{
	struct jp_task *t = carried(p);
	struct task_struct *parent = p->real_parent;
	struct jp_slot *info, *above;
	struct jp_task *up;
	struct jp_acct *a;
	bool first, was_program;

	if (!t && may_be_unseen()) {
		place_unseen(p, false);
		t = stored(p);
		if (t) /* the memory before may have been lent by vfork */
			t->flags &= ~JP_TASK_MEMORY;
	}
	if (!t || t->next_slot == JP_SLOT_NONE || t->next_slot == JP_SLOT_SELF)
		return 0;
	a = slot_acct(t->next_slot);
	if (a) {
		ADD(a, life_events, 1);
		left_by_exec(p, t, a);
	}
	command_exec(p, t);
	if (jp_families & FAM_BURST && t->call_at)
		burst_forget(p, t);
	t->call_frame = 0; /* the new program may make no such calls */
	was_program = t->flags & JP_TASK_MEMORY;
	t->maxrss = BPF_CORE_READ(p, signal, maxrss);
	t->flags |= JP_TASK_MEMORY;
	info = slot_info(t->next_slot);
	if (!info || t->next_slot == JP_SLOT_OTHER)
		return 0;
	up = stored(parent);
	above = up ? slot_info(up->next_slot) : NULL;
	first = !above || above->step != info->step;
	if (!(t->flags & JP_TASK_LINEAGE)) {
		note_user(p, info);
		if (first)
			begin_task(p, t, parent, info);
	}
	find_ranks(p, t, up, info->step, first && !was_program, bprm->envc);
	return 0;
}

/* Notes the slot of a task that ends, if it came by descent: jp_freed finds that of a cgroup only.
 */
static __noinline int note_descent(struct task_struct *p, struct jp_control *c)
{
	struct jp_slot *info;
	struct jp_task *from;
	u64 key = (u64)p;
	u32 flags, slot = unseen_slot(p, false, &from, &flags);

	info = slot_info(slot);
	if (!c || !info || (info->kind != JP_KIND_LINEAGE && info->kind != JP_KIND_RANK))
		return false;
	if (bpf_map_update_elem(&jp_gone, &key, &slot, BPF_ANY)) { /* too many are not reaped */
		place(p, slot, flags, true, from);
		count_birth(p, slot);
	} else {
		__sync_fetch_and_add(&c->noted, 1);
		enter(slot);
	}
	return true;
}

/* A task ends whose birth nobody has seen. Its slot is held until jp_freed has counted it. */
static __always_inline void exit_unseen(struct task_struct *p)
{
	struct jp_control *c = control();

	if (!c || !c->unseen || (c->descent && note_descent(p, c)))
		return;
	enter(ended_slot(p));
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(jp_exit, struct task_struct *p)
{
	struct jp_task *t = carried(p);
	struct signal_struct *sig = p->signal;
	struct jp_slot *info;
	struct jp_acct *a;
	bool last;
	u32 slot;

	if (!t) {
		exit_unseen(p);
		return 0;
	}
	slot = t->next_slot;
	a = slot_acct(slot);
	info = slot_info(slot);
	if (!a || !info)
		return 0;
	last = group_exits(p, sig);
	t->flags |= JP_TASK_EXITED;
	acct_retire(p, t);
	ADD(a, exits, 1);
	ADD(a, life_events, 1);
	left_by_exit(p, sig, t->maxrss, a, last);
	command_exit(p, sig, slot, t->comm, t->maxrss, last);
	if (!last)
		return 0;
	info->left_ns = bpf_ktime_get_boot_ns();
	if (sig->oom_mm)
		ADD(info, oom_kills, 1);
	if (info->rank_pid == (u32)p->tgid)
		info->rank_pid = 0;
	if (info->root_pid == (u32)p->tgid) {
		int code = BPF_CORE_READ(sig, group_exit_code);

		info->exit_code = code ? code : p->exit_code;
		info->flags |= JP_SLOT_F_EXITED;
		emit(JP_EV_EXIT, slot, info->gen, p->tgid);
	}
	return 0;
}
