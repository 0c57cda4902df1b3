// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots and lineages: a step's cgroup gets its slot inside mkdir(2), before any process can be in
 * it, and a task its lineage inside execve(2), before user code runs. User space only says, by
 * bpf/jobprof.h's layout components, what a step's directory looks like.
 *
 * cgroup_mkdir fires for every hierarchy under one global lock, so these programs never run in
 * parallel with themselves; all fire with the target's cgroup settled.
 */
#include "bpf/left.bpf.h"
#include "bpf/task.bpf.h"

#define NAME_MAX_MATCH 128 /* container runtimes put 64 hex digits between prefix and suffix */

static __always_inline struct jp_scratch *scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&jp_pcpu, &zero);
}

/* prefix*suffix, or the whole name; len is the name's length without its NUL. */
static __noinline bool name_matches(const struct jp_component *n, const char *name, u32 len)
{
	u32 plen = n->prefix_len, slen = n->suffix_len, i;

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

/* The layout component a new directory of that name below component is, 0: none. */
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
		u32 child;
		struct jp_component *n;

		if (i >= parent->nchild)
			break;
		child = parent->child[i];
		n = bpf_map_lookup_elem(&jp_components, &child);
		if (n && name_matches(n, s->name, len - 1))
			return child;
	}
	return 0;
}

/*
 * A user may have the right to make cgroups below one, and must not make a job of them: a directory
 * that is not root's counts with the one above. Its owner is the fsuid of the task that makes it.
 */
static __always_inline bool may_have_kind(u32 component)
{
	struct task_struct *maker = bpf_get_current_task_btf();
	struct jp_component *n = bpf_map_lookup_elem(&jp_components, &component);

	return n && (n->flags & JP_COMPONENT_ANYONE || !BPF_CORE_READ(maker, cred, fsuid.val));
}

/* Takes a free slot, which user space does not see before slot_publish(). Slot 0: no slot is free,
 * so the cgroup or lineage counts in slot 0; slots_exhausted says so. */
static __noinline u32 slot_alloc(u32 kind, u32 step)
{
	struct jp_slot *info;
	u32 slot;

	if (kind != JP_KIND_STEP && step == JP_SLOT_OTHER)
		goto none;
	if (bpf_map_pop_elem(&jp_free, &slot) || !slot_valid(slot))
		goto none;
	info = slot_info(slot);
	if (!info)
		goto none;
	info->kind = kind;
	info->step = kind == JP_KIND_STEP ? slot : step;
	info->gtid = JP_GTID_NONE;
	info->gtid_source = JP_GTID_UNKNOWN;
	info->start_ns = bpf_ktime_get_boot_ns();
	return slot;
none:
	JP_COUNT(slots_exhausted);
	return JP_SLOT_OTHER;
}

/* A reader of the slots in use finds a whole slot: its path is read once. */
static __always_inline void slot_publish(struct jp_slot *info)
{
	barrier();
	info->state = JP_SLOT_ACTIVE;
	JP_COUNT(slots_changed);
}

/*
 * slurmstepd writes job and step into its own command line before it makes the step's cgroup, and
 * ends with the step. Only root's process comes here (may_have_kind()): unlike a task's environment
 * no user has a say in this, and a step without tasks has it too.
 */
static __always_inline void note_title(struct jp_slot *info)
{
	struct task_struct *maker = bpf_get_current_task_btf();

	bpf_probe_read_user_str(info->title, sizeof(info->title),
				(void *)BPF_CORE_READ(maker, mm, arg_start));
}

static __always_inline void describe(u32 slot, const struct jp_cgroup_key *key, u32 flags,
				     const char *path)
{
	struct jp_slot *info = slot_info(slot);
	long len;

	if (!info || slot == JP_SLOT_OTHER)
		return;
	info->cgroup_id = key->id;
	info->hier = key->hier;
	if (flags & JP_COMPONENT_NEED_STEPD)
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
				       struct jp_cgroup *e)
{
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
		e->slot = e->step = slot_alloc(JP_KIND_STEP, 0);
		e->flags = n ? n->flags : 0;
		return true;
	case JP_KIND_TASK:
		e->slot = slot_alloc(JP_KIND_TASK, up->step);
		return true;
	case JP_KIND_STEPD:
		e->slot = JP_SLOT_NONE;
		return true;
	default:
		/* below the layout: with its parent, and slurmstepd's with no slot */
		e->slot = up->slot;
		if (up->kind == JP_KIND_STEPD)
			e->kind = JP_KIND_STEPD;
		return up->kind != JP_KIND_PATH;
	}
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(jp_cgroup_mkdir, struct cgroup *cgrp, const char *path)
{
	struct jp_cgroup_key key = {.hier = cgrp->root->hierarchy_id}, own = {};
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
	own.hier = key.hier;
	own.id = cgrp->kn->id;
	/* a scan may have been here between the directory's birth and now */
	if (bpf_map_lookup_elem(&jp_cgroups, &own) || !make_entry(up, component, &e))
		return 0;
	if (bpf_map_update_elem(&jp_cgroups, &own, &e, BPF_NOEXIST))
		JP_COUNT(cgroups_full);
	if ((e.kind == JP_KIND_STEP || e.kind == JP_KIND_TASK) && e.slot != JP_SLOT_OTHER)
		describe(e.slot, &own, e.flags, path);
	n = bpf_map_lookup_elem(&jp_components, &component);
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
	if ((e->kind == JP_KIND_STEP || e->kind == JP_KIND_TASK) && slot != JP_SLOT_OTHER && info) {
		info->end_ns = bpf_ktime_get_boot_ns();
		if (info->state == JP_SLOT_ACTIVE)
			info->state = JP_SLOT_DRAINING;
		emit(JP_EV_GONE, slot, info->gen, 0);
	}
	bpf_map_delete_elem(&jp_cgroups, &key);
	return 0;
}

/* Fires once per move, for the leader; the sweep that this asks for finds the other threads. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(jp_cgroup_attach, struct cgroup *dst, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	struct jp_cgroup_key key = {.id = dst->kn->id, .hier = dst->root->hierarchy_id};
	struct jp_cgroup *e = bpf_map_lookup_elem(&jp_cgroups, &key);
	struct jp_task *t = bpf_task_storage_get(&jp_tasks, task, 0, 0);
	struct jp_slot *own = t ? slot_info(t->next_slot) : NULL;
	struct jp_control *c = control();

	if (e && e->slot == JP_SLOT_NONE)
		e = NULL;
	if (!e && (!own || own->hier != key.hier))
		return 0;
	settle(task, e, false);
	if (threadgroup && c && task->signal->nr_threads > 1) {
		c->late = 1;
		emit(JP_EV_LATE, e ? e->slot : JP_SLOT_OTHER, 0, task->tgid);
	}
	return 0;
}

/*
 * Every new task passes here, also the threads that io_uring makes for a process, for which
 * sched_process_fork does not fire. The task's cgroup is settled, and the task has not run yet.
 */
#define CLONE_VM     0x100
#define CLONE_THREAD 0x10000

SEC("?tp_btf/task_newtask")
int BPF_PROG(jp_fork, struct task_struct *child, u64 clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct jp_task *pt = carried(parent);
	u32 slot = JP_SLOT_NONE, flags = 0;
	struct jp_acct *a;

	if (pt && pt->next_slot != JP_SLOT_SELF) {
		slot = pt->next_slot;
		flags = pt->flags & (JP_TASK_LINEAGE | JP_TASK_MEMORY);
		if ((clone_flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM)
			flags &= ~JP_TASK_MEMORY;
	}
	/* CLONE_INTO_CGROUP: the child begins elsewhere */
	if (parent->cgroups != child->cgroups) {
		struct jp_cgroup *e = resolve(child);
		struct jp_slot *own = slot_info(slot);

		if (!e)
			slot = JP_SLOT_NONE;
		else if (!((flags & JP_TASK_LINEAGE) && own && own->step == e->step))
			slot = e->slot, flags = 0;
	}
	if (slot == JP_SLOT_NONE)
		return 0;
	place(child, slot, flags, true);
	a = pt ? slot_acct(pt->next_slot) : NULL; /* of its maker, wherever it begins */
	if (a && child->pid == child->tgid)
		ADD(a, forks, 1);
	return 0;
}

/* The first n characters of a setting; not a literal, which would need a section of its own. */
static __always_inline bool same(const char *a, const volatile char *b, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
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

#define ENV_STRINGS 1024
#define PROCID_LEN  13

/*
 * The verifier walks loops turn by turn and a global function once, whenever jobprofd or "jobprof
 * run" starts: what is done with one string is a global function, and so is each loop. No pointer
 * goes to a global function, as kernels before 5.12 take none: strings are in the scratch memory.
 */
static __always_inline bool is_procid(const char *env)
{
	const u64 *have = (const u64 *)env;
	const volatile u64 *key = (const volatile u64 *)jp_procid_key;
	const volatile u64 *mask = (const volatile u64 *)jp_procid_mask;

	return !(((have[0] ^ key[0]) & mask[0]) | ((have[1] ^ key[1]) & mask[1]));
}

static __always_inline int parse_procid(const char *digits)
{
	int i, v = 0;

	for (i = 0; i < 9; i++) {
		char c = digits[i];

		if (!c)
			return i ? v : JP_GTID_NONE;
		if (c < '0' || c > '9')
			return JP_GTID_NONE;
		v = v * 10 + (c - '0');
	}
	return JP_GTID_NONE;
}

/*
 * Looks at one string of an environment; rest: it is the rest of a long one, and no new variable.
 * Returns its length with its NUL, 0 after SLURM_PROCID, whose value is in the scratch memory then.
 */
__noinline int find_procid(u64 at, u64 rest)
{
	struct jp_scratch *s = scratch();
	long n;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->env, sizeof(s->env), (void *)at);
	if (n <= 0 || rest || !is_procid(s->env))
		return n;
	s->gtid = parse_procid(s->env + PROCID_LEN);
	return 0;
}

/* SLURM_PROCID of a new program's environment, JP_GTID_NONE: not there or no number. */
__noinline int env_procid(u64 at, u64 end)
{
	struct jp_scratch *s = scratch();
	u64 rest = 0;
	int i;

	if (!s)
		return JP_GTID_NONE;
	s->gtid = JP_GTID_NONE;
	for (i = 0; i < ENV_STRINGS && at < end; i++) {
		int n = find_procid(at, rest);

		if (n <= 0)
			return s->gtid;
		rest = n == sizeof(s->env);
		at += n - rest;
	}
	if (at < end)
		JP_COUNT(env_long);
	return JP_GTID_NONE;
}

/* "SLURM_", as it begins jp_procid_key. */
static __always_inline bool is_slurms(const char *env)
{
	return *(const u32 *)env == *(const volatile u32 *)jp_procid_key &&
	       *(const u16 *)(env + 4) == *(const volatile u16 *)(jp_procid_key + 4);
}

/* Keeps one string of an environment if it is Slurm's; rest and result are find_procid()'s. */
__noinline int keep_if_slurms(u64 at, u64 rest)
{
	struct jp_scratch *s = scratch();
	u32 len;
	long n;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->env, sizeof(s->env), (void *)at);
	len = s->kept.len;
	if (n <= 0 || len >= JP_ENV_LEN)
		return 0;
	if (!rest && n < JP_ENV_STRING && is_slurms(s->env))
		s->kept.len =
			len + bpf_probe_read_kernel_str(s->kept.text + len, JP_ENV_STRING, s->env);
	return n;
}

/*
 * Slurm's variables in the environment of a step's first program: user space may read them when the
 * program has ended, has become another one, or cannot be read.
 */
__noinline int keep_env(u64 at, u64 end, u32 step)
{
	struct jp_scratch *s = scratch();
	u64 rest = 0;
	int i;

	if (!s || bpf_map_lookup_elem(&jp_envs, &step))
		return 0;
	s->kept.len = 0;
	for (i = 0; i < ENV_STRINGS && at < end; i++) {
		int n = keep_if_slurms(at, rest);

		if (n <= 0)
			break;
		rest = n == sizeof(s->env);
		at += n - rest;
	}
	if (s->kept.len)
		bpf_map_update_elem(&jp_envs, &step, &s->kept, BPF_NOEXIST);
	return 0;
}

/* The first program of a task: it names the lineage. */
static __always_inline void begin_lineage(struct task_struct *p, struct jp_task *t, int gtid)
{
	u32 slot = t->next_slot;
	struct jp_slot *info = slot_info(slot);
	bool fresh = false;

	if (!info)
		return;
	if (info->kind == JP_KIND_STEP || (info->gtid >= 0 && info->gtid != gtid)) {
		u32 step = info->step;
		u64 id = info->cgroup_id;
		u32 hier = info->hier;

		slot = slot_alloc(JP_KIND_LINEAGE, step);
		info = slot_info(slot);
		if (slot == JP_SLOT_OTHER || !info)
			return;
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
	place(p, slot, JP_TASK_LINEAGE, true);
	emit(JP_EV_TASK, slot, info->gen, p->tgid);
}

/* The user of a step without tasks (extern): that of a program in the step that is not root's. Only
 * root moves processes there, and Slurm lets in only the job's user. */
static __always_inline void note_user(struct task_struct *p, struct jp_slot *info)
{
	if (info->kind == JP_KIND_STEP && !info->uid)
		info->uid = BPF_CORE_READ(p, cred, uid.val);
}

/* The first program of a slot without a global task id shows the user and the way it ended. */
static __always_inline void note_first(struct task_struct *p, u32 slot, struct jp_slot *info)
{
	if (info->root_pid)
		return;
	info->root_pid = p->tgid;
	info->uid = BPF_CORE_READ(p, cred, uid.val);
	emit(JP_EV_TASK, slot, info->gen, p->tgid);
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(jp_exec, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm)
{
	struct jp_task *t = bpf_task_storage_get(&jp_tasks, p, 0, 0);
	struct task_struct *parent = p->real_parent;
	struct jp_slot *info, *above;
	struct jp_task *up;
	u64 env, env_end;
	struct jp_acct *a;
	int gtid;

	if (!t || t->next_slot == JP_SLOT_NONE || t->next_slot == JP_SLOT_SELF)
		return 0;
	a = slot_acct(t->next_slot);
	if (a) {
		ADD(a, life_events, 1);
		left_by_exec(p, t, a);
	}
	t->maxrss = BPF_CORE_READ(p, signal, maxrss);
	t->flags |= JP_TASK_MEMORY;
	info = slot_info(t->next_slot);
	if (!info || (t->flags & JP_TASK_LINEAGE) || t->next_slot == JP_SLOT_OTHER)
		return 0;
	note_user(p, info);
	up = bpf_task_storage_get(&jp_tasks, parent, 0, 0);
	above = up ? slot_info(up->next_slot) : NULL;
	if (above && above->step == info->step)
		return 0; /* its parent is of this step already: not a task's first program */
	env = BPF_CORE_READ(p, mm, env_start);
	env_end = BPF_CORE_READ(p, mm, env_end);
	if (!(info->flags & JP_SLOT_F_ENV)) {
		keep_env(env, env_end, info->step);
		note_first(p, t->next_slot, info);
		return 0;
	}
	if (!is_stepd(parent))
		return 0;
	keep_env(env, env_end, info->step);
	gtid = env_procid(env, env_end);
	if (gtid >= 0)
		begin_lineage(p, t, gtid);
	else
		note_first(p, t->next_slot, info);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(jp_exit, struct task_struct *p)
{
	struct jp_task *t = carried(p);
	struct signal_struct *sig = p->signal;
	struct jp_slot *info;
	struct jp_acct *a;
	u32 slot;

	if (!t)
		return 0;
	slot = t->next_slot;
	a = slot_acct(slot);
	info = slot_info(slot);
	if (!a || !info)
		return 0;
	t->flags |= JP_TASK_EXITED;
	acct_retire(p, t);
	ADD(a, exits, 1);
	ADD(a, life_events, 1);
	left_by_exit(p, t, a);
	if (!group_exits(p))
		return 0;
	if (BPF_CORE_READ(sig, oom_mm))
		ADD(info, oom, 1);
	if (info->root_pid == (u32)p->tgid) {
		int code = BPF_CORE_READ(sig, group_exit_code);

		info->exit_code = code ? code : p->exit_code;
		info->flags |= JP_SLOT_F_EXITED;
		emit(JP_EV_EXIT, slot, info->gen, p->tgid);
	}
	return 0;
}
