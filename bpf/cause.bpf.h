/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds what a thread that leaves its CPU waits for, by its state, the system call that it is in,
 * and the file that the call is about. A fault inside a system call (of rseq, or while data is
 * copied) waits in the uninterruptible state whatever the call is, so the state is looked at first.
 */
#ifndef JP_CAUSE_BPF_H
#define JP_CAUSE_BPF_H

#include "bpf/call.bpf.h"
#include "bpf/maps.bpf.h"

#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_HALTED	     0x800c /* stopped, traced, frozen */
#define TASK_FREEZABLE	     0x2000
#define PF_FREEZER_SKIP	     0x40000000
#define PF_NO_REGISTERS	     0x204010 /* of the kernel: KTHREAD, USER_WORKER, IO_WORKER */

enum { CALL_FILE = 0x40, CALL_SYNC, CALL_LOCK, CALL_SPAWN, CALL_PAUSE, CALL_FAULT };

#define CALL_NUMBERS 512 /* a power of two */

/* Causes by the call's number; 0 (JP_CAUSE_THROTTLED, which no call has): there is no entry. */
static const volatile u8 jp_calls[CALL_NUMBERS] = {
#if defined(__TARGET_ARCH_x86)
#define CALL(name, cause, x86, arm64) [x86] = cause,
#define CALL_X86(name, cause, x86)    [x86] = cause,
#include "bpf/calls.def"
#elif defined(__TARGET_ARCH_arm64)
#define CALL(name, cause, x86, arm64) [arm64] = cause,
#include "bpf/calls.def"
#endif
};

/* What a call is about: enum jp_cause or CALL_*. */
static __always_inline u32 call_of(struct task_struct *p, u64 *first)
{
	struct pt_regs *regs;
	s32 number;
	u32 cause;

	if (!jp_regs || (p->flags & PF_NO_REGISTERS) || is_compat(p))
		return JP_CAUSE_OTHER;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	number = call_number(regs);
	if (number < 0)
		return CALL_FAULT;
	*first = call_first(regs);
	cause = number < CALL_NUMBERS ? jp_calls[number & (CALL_NUMBERS - 1)] : 0;
	return cause ? cause : JP_CAUSE_OTHER;
}

extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;

/*
 * How the pointers of a task are followed. LOADS_PLAIN: by plain loads, and by a helper where the
 * verifier refuses these. LOADS_CAST: all by plain loads, through untyped pointers (6.2).
 * LOADS_HELPER: all by helpers, where a quick start matters more than a quick program (see
 * carried()).
 */
enum loads { LOADS_PLAIN, LOADS_CAST, LOADS_HELPER };
#define FOLLOW(how, p, field) ((how) == LOADS_HELPER ? BPF_CORE_READ(p, field) : (p)->field)
#define FOLLOW_TASK(how, p, field)                                                       \
	((how) == LOADS_CAST ? ((struct task_struct *)bpf_rdonly_cast(                   \
					p, bpf_core_type_id_kernel(struct task_struct))) \
				       ->field                                           \
			     : FOLLOW(how, p, field))

/* The inode behind a descriptor of the running task. */
static __always_inline struct inode *inode_of(struct task_struct *p, u64 fd, enum loads how)
{
	struct files_struct *files = FOLLOW_TASK(how, p, files);
	struct fdtable *fdt;
	struct file *file = NULL;

	if (!files)
		return NULL;
	fdt = FOLLOW(how, files, fdt);
	if ((u32)fd >= FOLLOW(how, fdt, max_fds))
		return NULL;
	if (how == LOADS_CAST) {
		/* any type that begins with a pointer */
		struct callback_head *at =
			bpf_rdonly_cast((void *)fdt->fd + 8 * (u32)fd,
					bpf_core_type_id_kernel(struct callback_head));

		file = bpf_rdonly_cast(at->next, bpf_core_type_id_kernel(struct file));
		return file->f_inode;
	}
	bpf_probe_read_kernel(&file, sizeof(file), (void *)FOLLOW(how, fdt, fd) + 8 * (u32)fd);
	return BPF_CORE_READ(file, f_inode);
}

/* The magic numbers are those of statfs(2). FUSE counts as a whole, with its local file systems. */
static __always_inline bool is_net_fs(u32 magic)
{
	switch (magic) {
	case 0x6969:	 /* NFS */
	case 0x0bd00bd0: /* Lustre */
	case 0x47504653: /* GPFS */
	case 0x19830326: /* BeeGFS */
	case 0x00c36400: /* CephFS */
	case 0x65735546: /* FUSE */
	case 0x517b:	 /* SMB */
	case 0xff534d42: /* CIFS */
	case 0xfe534d42: /* SMB2 */
	case 0x20030528: /* OrangeFS */
	case 0x01021997: /* 9P */
	case 0x5346414f: /* AFS */
	case 0x6b414653: /* kAFS */
		return true;
	default:
		return false;
	}
}

#define MODE_TYPE 0170000
#define MODE_PIPE 0010000
#define MODE_DIR  0040000
#define MODE_FILE 0100000
#define MODE_SOCK 0140000

static __always_inline u32 file_cause(struct task_struct *p, u64 fd, enum loads how)
{
	struct inode *inode = inode_of(p, fd, how);
	u32 magic = 0;
	u16 mode;

	if (!inode)
		return JP_CAUSE_OTHER;
	mode = (how == LOADS_CAST ? inode->i_mode : BPF_CORE_READ(inode, i_mode)) & MODE_TYPE;
	if (mode == MODE_PIPE)
		return JP_CAUSE_PIPE;
	if (mode == MODE_SOCK)
		return JP_CAUSE_SOCKET;
	if (mode == MODE_FILE || mode == MODE_DIR)
		magic = how == LOADS_CAST ? inode->i_sb->s_magic
					  : BPF_CORE_READ(inode, i_sb, s_magic);
	return is_net_fs(magic) ? JP_CAUSE_NET_FS : JP_CAUSE_OTHER;
}

static __always_inline bool in_iowait(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, in_iowait);
}

/* How long a group's run queue has been throttled ever (6.6). */
static __always_inline u64 throttled_for(struct cfs_rq *queue)
{
	return bpf_core_field_exists(queue->throttled_clock_self_time)
		       ? queue->throttled_clock_self_time
		       : 0;
}

/* Whether a quota throttles the thread: known from 6.18 on, where threads are throttled one by one.
 */
static __always_inline bool is_throttled(struct task_struct *p)
{
	return bpf_core_field_exists(p->throttled) &&
	       bpf_core_field_exists(p->se.cfs_rq->throttled_clock_self_time) && p->throttled;
}

/* Returns for how long the quota has throttled a thread whose gap began so; queue: the thread's run
 * queue now. Where the thread has moved to another CPU since, the time of the move is not known,
 * and the whole gap counts as quota. */
static __always_inline u64 held_for(struct task_struct *p, struct cfs_rq *queue,
				    const struct jp_task *t)
{
	if (is_throttled(p) || (u64)queue != t->held_queue)
		return ~0ull;
	return throttled_for(queue) - t->held_ns;
}

/* In clone and the like: whether the caller waits for the child that has its memory, not for a lock
 * of the kernel. A freezer may freeze such a wait: the task's state shows that (from 6.1 on), or a
 * flag does. */
static __always_inline bool is_vfork(struct task_struct *p, u32 state)
{
	return state & TASK_FREEZABLE || p->flags & PF_FREEZER_SKIP;
}

static __always_inline bool has_children(struct task_struct *p, enum loads how)
{
	return (u64)FOLLOW_TASK(how, p, children.next) != (u64)&p->children;
}

/* The enum jp_cause of a gap that begins now, or has begun. */
static __always_inline u32 cause_of(struct task_struct *p, u32 state, enum loads how)
{
	u32 cause, call;
	u64 first = 0;

	if (!state)
		return is_throttled(p) ? JP_CAUSE_THROTTLED : JP_CAUSE_NONE;
	if (state & TASK_HALTED)
		return JP_CAUSE_SIGNAL;
	call = cause = call_of(p, &first);
	if (call == CALL_FILE || call == CALL_SYNC || call == CALL_LOCK)
		cause = file_cause(p, first, how);
	if (cause == JP_CAUSE_NET_FS)
		return cause;
	if (in_iowait(p)) /* interruptible in io_uring_enter (6.5) */
		return call == CALL_FAULT ? JP_CAUSE_FAULT : JP_CAUSE_DISK;
	if (!(state & TASK_UNINTERRUPTIBLE)) {
		if (call == CALL_LOCK)
			return JP_CAUSE_FUTEX;
		if (call == CALL_PAUSE)
			return has_children(p, how) ? JP_CAUSE_CHILD : JP_CAUSE_SIGNAL;
		return cause < JP_CAUSES ? cause : JP_CAUSE_OTHER;
	}
	if (call == CALL_SYNC) /* the journal's commit is no I/O wait to the kernel */
		return JP_CAUSE_DISK;
	return call == CALL_SPAWN && is_vfork(p, state) ? JP_CAUSE_CHILD : JP_CAUSE_KERNEL;
}

#endif
