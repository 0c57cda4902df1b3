/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types our programs read, with only the fields in use: offsets are relocated against
 * the running kernel's BTF at load (CO-RE), so order and size here mean nothing. Names after ___
 * are flavours: the same kernel type as it was in other releases.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef short int __s16;
typedef short unsigned int __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef long long unsigned int __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef int pid_t;
typedef _Bool bool;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum { false = 0, true = 1 };

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
struct bpf_perf_event_value {
	u64 counter;
	u64 enabled;
	u64 running;
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_USER_STACK = 256 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024, BPF_F_PRESERVE_ELEMS = 2048 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct rq {
	u64 clock;
	u64 clock_task;
	unsigned int nr_running;
	int online;
};

struct cpumask {
	unsigned long bits[1];
};

struct cpuset {
	struct cpumask effective_cpus[1];
};

/* a kernel built with CPUMASK_OFFSTACK */
struct cpuset___large {
	struct cpumask *effective_cpus;
};

enum cgroup_subsys_id { cpuset_cgrp_id = 0 };

struct cfs_rq {
	struct rq *rq;
	u64 throttled_clock_self_time;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 nr_migrations;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct task_io_accounting {
	u64 rchar;
	u64 wchar;
	u64 syscr;
	u64 syscw;
	u64 read_bytes;
	u64 write_bytes;
};

struct percpu_counter {
	s64 count;
	s32 *counters;
};

typedef struct {
	s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t;

struct mm_struct {
	unsigned long hiwater_rss;
	unsigned long total_vm;
	atomic_long_t hugetlb_usage;
	unsigned long mmap_base;
	unsigned long start_code;
	unsigned long end_code;
	unsigned long arg_start;
	unsigned long env_start;
	unsigned long env_end;
	struct percpu_counter rss_stat[4];
};

/* before 6.2: plain counters */
typedef struct {
	s64 counter;
} atomic_long_t___old;
struct mm_rss_stat___old {
	atomic_long_t___old count[4];
};
struct mm_struct___old {
	struct mm_rss_stat___old rss_stat;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	unsigned long maxrss;
	struct mm_struct *oom_mm;
};

struct kuid___jp {
	u32 val;
};
struct cred {
	struct kuid___jp uid;
	struct kuid___jp fsuid;
};

/* Open files. */
struct super_block {
	unsigned long s_magic;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct callback_head {
	struct callback_head *next;
};

struct bpf_local_storage;
struct thread_info {
	u32 cpu;
#if defined(__TARGET_ARCH_x86)
	u32 status;
#elif defined(__TARGET_ARCH_arm64)
	unsigned long flags;
#endif
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct list_head {
	struct list_head *next;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int on_cpu; /* unsigned: its size differs between kernels */
	int on_rq;
	unsigned int flags;
	int nr_cpus_allowed;
	unsigned int __state;
	int exit_code;
	unsigned int in_iowait : 1;
	bool throttled;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct list_head children;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	u64 utime;
	u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_boottime;
	u32 self_exec_id;
	unsigned long min_flt;
	unsigned long maj_flt;
	const struct cred *cred;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct completion *vfork_done;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage;
};

/* before 5.14 */
struct task_struct___old {
	long state;
};

/* before 5.16, but on arm64 */
struct task_struct___cpu {
	unsigned int cpu;
};

/* before 6.2: a task keeps up to 64 faults' worth of its mm's counters to itself */
struct task_rss_stat___old {
	int count[4];
};
struct task_struct___split {
	struct task_rss_stat___old rss_stat;
};

struct gendisk {
	int major;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct bio;
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 rq_flags;
	unsigned int __data_len;
	struct bio *bio;
	u64 start_time_ns;
	atomic_t ref; /* before 5.16 a refcount_t, of the same size */
};

/* before 5.17 */
struct request___old {
	struct gendisk *rq_disk;
};

/* bit numbers; before 6.11 a macro */
enum rqf_flags { __RQF_FLUSH_SEQ = 1 };
enum bpf_func_id { BPF_FUNC_loop = 181 };

struct linux_binprm {
	struct mm_struct *mm;
	int envc;
};

struct bpf_map {
	u32 id;
};

struct bpf_array {
	void *pptrs[1];
};

/* Sockets. */
struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

/* before 5.15 a number of that size is in its place */
struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	struct dst_entry *sk_dst_cache;
	u16 sk_protocol;
	u8 sk_kern_sock : 1;
	struct sock_cgroup_data sk_cgrp_data;
};

struct socket {
	struct sock *sk;
};

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	int skb_iif;
	char cb[48];
};

/* what TCP keeps in sk_buff.cb */
struct tcp_skb_cb {
	u16 tcp_gso_segs;
};

/* What programs on packets see of them. */
struct bpf_sock {
	u32 protocol;
};

struct __sk_buff {
	u32 len;
	u32 protocol;
	u32 ifindex;
	struct bpf_sock *sk;
};

struct trace_event_raw_sys_exit {
	long int ret;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax;
	unsigned long di;
	unsigned long ip;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	s32 syscallno;
	u64 orig_x0;
};

struct user_pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};
#else
struct pt_regs;
#endif

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#pragma clang attribute pop

#endif
