/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The ABI between the BPF programs, jobprofd and jobprof-dump: every struct here lives in a map.
 * Fixed width, no implicit padding, sizes asserted. A change of any of them raises JP_ABI_VERSION,
 * so that a daemon never takes over pinned maps of another shape.
 */
#ifndef JOBPROF_H
#define JOBPROF_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_ABI_VERSION	      20
#define JP_LAT_BUCKETS	      40 /* [2^k, 2^(k+1)) ns; 2^40 ns is 18 minutes */
#define JP_PATH_LEN	      192
#define JP_TITLE_LEN	      64
#define JP_ENVS		      256  /* steps whose variables are kept, as long as they have slots */
#define JP_ENV_LEN	      4096 /* bytes of them, and a last string */
#define JP_ENV_STRING	      512  /* longer ones are left out */
#define JP_COMPONENTS	      64   /* components of all cgroup layouts together */
#define JP_COMPONENT_CHILDREN 6
#define JP_NAME_LEN	      24
#define JP_CARRIERS	      4 /* cgroup hierarchies followed at once */
#define JP_PMU_EVENTS	      8 /* counted at once */
#define JP_PMU_NAME_LEN	      40
#define JP_PMU_TEXT	      512
#define JP_NET_TEXT	      1024
#define JP_COMM_LEN	      16    /* of a program's name, with its NUL, as the kernel keeps it */
#define JP_COMMANDS	      64    /* names of a step; the rest count together */
#define JP_COMMANDS_ALL	      4096  /* of all steps */
#define JP_PAGES	      16384 /* of programs' code whose module is known */
#define JP_STACK_WORDS	      16    /* of a sample's stack, from its top */
#define JP_STACK_KERNEL	      32    /* frames of a stack in the kernel, and */
#define JP_STACK_USER	      96    /* in the program; outer ones are cut off */

/* Families of quantities, as bits: what is loaded, and what a step's files hold. */
enum family {
	FAM_BASE = 1 << 0, /* time columns and Slurm's ten */
	FAM_SCHED = 1 << 1,
	FAM_MEMORY = 1 << 2,
	FAM_FILE = 1 << 3,
	FAM_SELF = 1 << 4,
	FAM_CGROUP = 1 << 5,  /* Step only */
	FAM_LATENCY = 1 << 6, /* RunLatency */
	FAM_BLOCK = 1 << 7,   /* BlkLatency too */
	FAM_NETWORK = 1 << 8,
	FAM_PERF = 1 << 9,
	FAM_FILES =
		1 << 10, /* opens and closes: costs every system call, so it must be asked for */
	/* of the node, read by jobprofd: no BPF program counts these */
	FAM_ENERGY = 1 << 11,
	FAM_GPU = 1 << 12,
	FAM_INTERCONNECT = 1 << 13, /* ports and interfaces */
	FAM_FILESYSTEM = 1 << 14,   /* mounts and disks */
	FAM_NODE = 1 << 15,	    /* all else that sensors say */
	FAM_WAIT = 1 << 16,	    /* TimeBudget */
	FAM_CULPRIT = 1 << 17,	    /* Culprits */
	FAM_SAMPLE = 1 << 18,	    /* Samples: an interrupt 97 times a second on every CPU */
	FAM_STACK = 1 << 19,	    /* Stacks, CallTree */
	FAM_BURST = 1 << 20,	    /* Bursts, BurstLength, GapLength */
	FAM_FOLD = 1 << 21,	    /* SamplePoints: each sample by itself; with SAMPLE and WAIT */
};
#define FAM_SENSORS 0xf800 /* read by jobprofd */
/* What "all" means; the others must be asked for. */
#define FAM_ALL (FAM_SENSORS | 0x3ff | FAM_WAIT | FAM_CULPRIT)

/* Slot 0 takes what could not be given a slot; slot 1 is the collector itself. */
#define JP_SLOT_OTHER 0u
#define JP_SLOT_SELF  1u
#define JP_SLOT_FIRST 2u
#define JP_SLOT_NONE  0xffffffffu
#define JP_GTID_NONE  (-1)

/*
 * FREE: in the queue of free slots. ACTIVE: a cgroup or lineage counts here. DRAINING: its cgroup
 * is gone; counted on until no task holds it (tasks_in == tasks_out) and its disk requests are
 * over. CLOSED: its last row is being written, or was; disk requests that end now are late and
 * count in slot 0. Then it is zeroed and queued again with gen + 1.
 */
enum jp_slot_state { JP_SLOT_FREE = 0, JP_SLOT_ACTIVE, JP_SLOT_DRAINING, JP_SLOT_CLOSED };

enum jp_kind {
	JP_KIND_NONE = 0,
	JP_KIND_PATH,	 /* on the way to a step: no slot */
	JP_KIND_STEP,	 /* a step's cgroup: what belongs to no task */
	JP_KIND_TASK,	 /* a task's cgroup below a step */
	JP_KIND_LINEAGE, /* slot only: a task among others of one cgroup */
	JP_KIND_GROUP,	 /* below a step, counts with its parent */
	JP_KIND_STEPD,	 /* slurmstepd's own: not counted */
	JP_KIND_RANK,	 /* slot only: a rank of an MPI launcher within a task */
};

/* Where a slot's global task id comes from, best last. */
enum jp_gtid_source {
	JP_GTID_UNKNOWN = 0,
	JP_GTID_PATH,
	JP_GTID_ENVIRON,
	JP_GTID_EXEC,
	JP_GTID_SLURM
};

/* One component of a cgroup layout: prefix*suffix, or with JP_COMPONENT_EXACT the whole name. */
struct jp_component {
	char prefix[JP_NAME_LEN];
	char suffix[JP_NAME_LEN];
	__u8 prefix_len;
	__u8 suffix_len;
	__u8 kind;  /* enum jp_kind */
	__u8 flags; /* JP_COMPONENT_* */
	__u8 nchild;
	__u8 child[JP_COMPONENT_CHILDREN];
	__u8 pad[5];
};
#define JP_COMPONENT_EXACT	1 /* name == prefix */
#define JP_COMPONENT_NEED_STEPD 2 /* a task is a child of a process called slurmstepd */
#define JP_COMPONENT_WAKE	4 /* a job begins here: attach the programs */
#define JP_COMPONENT_ANYONE	8 /* made by any user; else it must be root's */

/* A cgroup hierarchy that is followed. */
struct jp_carrier {
	__u32 hier;
	__s32 ssid; /* index in css_set.subsys, -1: cgroup v2 */
};

struct jp_cgroup_key {
	__u64 id;
	__u32 hier; /* kernel hierarchy id: 0 is cgroup v2; ids repeat between hierarchies */
	__u32 pad;
};

struct jp_cgroup {
	__u32 slot;	 /* where its tasks count; JP_SLOT_NONE on the way to a step */
	__u32 step;	 /* slot of its step */
	__u16 component; /* layout component, 0 below the layout */
	__u8 kind;	 /* enum jp_kind */
	__u8 flags;	 /* JP_COMPONENT_* of the step's layout */
	__u32 pad;
	__u64 job; /* id of the directory in which its job begins, 0: above one */
};

/* What a slot stands for. Writer: the program that gave it, then user space (state, gtid). */
struct jp_slot {
	__u32 state; /* enum jp_slot_state */
	__u32 gen;
	__u32 kind; /* enum jp_kind */
	__u32 step; /* slot of its step; itself for a step */
	__u64 cgroup_id;
	__u32 hier;
	__s32 gtid;
	__u32 gtid_source;
	__u32 root_pid;	 /* first process of the lineage */
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 end_ns;	 /* cgroup removed, or lineage root exited; 0 while it lives */
	__s32 exit_code; /* wait status of the lineage root, valid with JP_SLOT_F_EXITED */
	__u32 flags;
	__u32 uid;	/* valid with root_pid, or if not 0 */
	__u32 oom;	/* processes of this slot killed by the OOM killer */
	__u32 path_len; /* 0 when given by user space from a scan */
	__u32 pad;
	char path[JP_PATH_LEN]; /* below the hierarchy's root */
	/* STEP: the command line of the process that made its cgroup, "": not seen */
	char title[JP_TITLE_LEN];
	__u64 job; /* STEP: id of the job's directory, in its hierarchy */
	/* RANK: its number, and the slot that its launcher counts in, as it was then */
	__s32 rank;
	__u32 task, task_gen;
	__u32 rank_pid; /* its first program, of several launchers' the last; 0: has exited */
};
#define JP_SLOT_F_EXITED 1 /* the lineage root has exited */
#define JP_SLOT_F_ENV	 4 /* tasks are known by SLURM_PROCID, as children of slurmstepd */
#define JP_SLOT_F_BASE	 2 /* was running when first seen: counts from a baseline */
#define JP_SLOT_F_DONE	 8 /* its counts are in a journal that is complete, or in none by wish */

/* One cache line per CPU and slot. Only writer: sched_switch (and exit) on that CPU, IRQs or
 * preemption off. */
struct jp_sched {
	__u64 runtime_ns;
	__u64 run_delay_ns;
	__u64 nvcsw;
	__u64 nivcsw;
	__u64 migrations;
	__u64 iowait_ns;
	__u64 tasks_out; /* tasks that will never write this slot again */
	__u64 harvests;	 /* program runs that did work here */
};

/* Why a thread was off its CPU without waiting for one (bpf/wait.bpf.h). */
enum jp_cause {
	JP_CAUSE_THROTTLED,
	JP_CAUSE_DISK,
	JP_CAUSE_FAULT,	 /* a page that a disk has to bring */
	JP_CAUSE_NET_FS, /* a file of a network file system */
	JP_CAUSE_KERNEL, /* a lock of the kernel, or the process's memory map */
	JP_CAUSE_FUTEX,
	JP_CAUSE_PIPE,
	JP_CAUSE_SOCKET,
	JP_CAUSE_POLL,
	JP_CAUSE_SLEEP,
	JP_CAUSE_CHILD,
	JP_CAUSE_SIGNAL, /* or stopped */
	JP_CAUSE_OTHER,
	JP_CAUSES,
	JP_CAUSE_NONE = JP_CAUSES /* runnable: it only waits for a CPU */
};

/* Where a thread was, and of which process: another exec, or another process of the same number,
 * has other addresses. */
struct jp_stack_key {
	__u64 hash; /* of the frames; 0: they were not taken */
	__u64 start_ns;
	__u32 tgid;
	__u32 exec;
	__u32 slot;
	__u32 cause; /* enum jp_cause that it was blocked by; JP_CAUSE_NONE: it ran */
};

/* How often, and for how long. Any CPU: atomic adds; user space takes it away. */
struct jp_stack {
	__u64 n;       /* samples, or gaps of a millisecond and more */
	__u64 ns;      /* of gaps */
	__u32 nkernel; /* both 0: user space has the frames already */
	__u32 nuser;
	__u64 kernel[JP_STACK_KERNEL]; /* the innermost first */
	__u64 user[JP_STACK_USER];
};

/*
 * The whole time of threads, ns; two cache lines. A thread carries its own, so that a record of it
 * holds at one instant; per slot are those of threads that have ended or left (any CPU: atomic
 * adds).
 */
struct jp_wait {
	__u64 on_ns;	 /* on a CPU, by the clock of its run queue */
	__u64 stolen_ns; /* of that, not in its run time: interrupts, and what a hypervisor took */
	__u64 queued_ns; /* runnable, waiting for a CPU */
	__u64 gap_ns[JP_CAUSES];
};

/* What had the CPU that a thread of a slot waited for (bpf/culprit.bpf.h). */
enum jp_culprit {
	JP_BY_SLOT,    /* the slot itself */
	JP_BY_TASK,    /* another slot of its task: a rank, or the launcher of ranks */
	JP_BY_STEP,    /* another task of its step */
	JP_BY_JOB,     /* another step of its job */
	JP_BY_OTHERS,  /* another job */
	JP_BY_SYSTEM,  /* what no slot counts, and the collector */
	JP_BY_IDLE,    /* nothing: the CPU had to wake up */
	JP_BY_UNKNOWN, /* it waited on another CPU before, or too much has run since */
	JP_CULPRITS    /* a power of two */
};

/* One cache line per CPU and slot; ns, their sum is run_delay_ns of jp_sched. Only writer: that
 * CPU's sched_switch. */
struct jp_culprits {
	__u64 ns[JP_CULPRITS];
};

/* What ran on a CPU, the newest at head - 1: it left at end, and came when the one before left.
 * What ran in a row for one slot is one. */
#define JP_RAN	       256
#define JP_RAN_IDLE    0xfffffffeu /* JP_SLOT_NONE: what no slot counts */
#define JP_RAN_UNKNOWN 0xfffffffdu
struct jp_ran {
	__u64 end; /* by the run queue's clock */
	__u32 slot;
	__u32 pad;
};
struct jp_ring {
	__u64 head;
	__u64 pad[7];
	struct jp_ran ran[JP_RAN];
};

/* Who waited for whom: slots as they were. The oldest pairs make room for new ones. */
#define JP_PAIRS 16384
struct jp_pair_key {
	__u32 waits, waits_gen;
	__u32 ran, ran_gen; /* or JP_SLOT_NONE, JP_RAN_* */
};

/* Bursts and gaps, one writer per CPU and slot as of jp_sched. Buckets as those of jp_lat. */
struct jp_burst_use {
	__u64 burst[JP_LAT_BUCKETS]; /* by run time */
	__u64 gap[JP_LAT_BUCKETS];   /* off the CPU, without the wait for it */
	__u64 burst_ns, gap_ns;	     /* their sums */
	__u64 lost;		     /* long bursts that found the ring full */
	__u64 pad[5];
};

/* A long burst, in a ring of its own. */
struct jp_burst {
	__u32 slot, gen;
	__u32 tid;
	__u32 pad;
	__u64 end_ns;  /* CLOCK_BOOTTIME */
	__u64 wall_ns; /* since it began */
	__u64 on_ns;   /* of that on a CPU */
	__u64 ran_ns;  /* of that run time */
	__u64 gap_ns;  /* blocked before it; JP_GAP_UNKNOWN */
};
#define JP_GAP_UNKNOWN	(~0ull)
#define JP_BURST_RING	(4u << 20)
#define JP_BURST_WAKE	(JP_BURST_RING / 4) /* user space is woken beyond so many bytes */
#define JP_BURST_MIN_NS 1000000

/* What a thread executes: the kind of the file that its code is from (schemas/modules.def). */
enum jp_module {
	JP_MODULE_OWN, /* the program's own file */
	JP_MODULE_MPI, /* MPI, with all that it calls to wait and to send */
	JP_MODULE_GPU,
	JP_MODULE_BLAS,
	JP_MODULE_OPENMP,
	JP_MODULE_INTERPRETER,
	JP_MODULE_LIBC,
	JP_MODULE_LIBRARY,
	JP_MODULE_MADE, /* no file: made by the program at run time */
	JP_MODULE_KERNEL,
	JP_MODULE_UNKNOWN,
	JP_MODULES
};

/* Samples of a slot: one cache line and a half. Interrupts, and the collector: atomic adds. */
struct jp_samples {
	__u64 module[JP_MODULES];
	__u64 for_mpi; /* of JP_MODULE_LIBC and _KERNEL, those that MPI had called */
};

/* A page of a program's code. Another exec of the process, or another process of its number, has
 * other pages. */
struct jp_page_key {
	__u64 page; /* of 4 KiB */
	__u64 start_ns;
	__u32 tgid;
	__u32 exec;
};

/* A sample with its instant and what its thread had counted until then. */
struct jp_point {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 place;   /* of the user's code: see jp_place */
	__u64 cpu_ns;
	__u64 faults;
	__u32 slot;
	__u32 gen;
	__u32 tgid;
	__u32 tid; /* as the thread itself knows it */
	__u32 module;
	__u32 pad;
};

/* Where code is: bytes from the begin of the program's own code, or with JP_PLACE_LIBRARY below the
 * end of the region of mappings. Both are the same in all processes of a program. */
#define JP_PLACE_LIBRARY (1ull << 48)

/* A sample that user space books: its page is not known, or its caller says more. */
struct jp_sample {
	struct jp_page_key at; /* of the user's code, also for a sample in the kernel */
	__u32 slot;
	__u32 gen;
	__u32 kernel;
	__u32 pad;
	__u64 ip;
	__u64 stack[JP_STACK_WORDS]; /* from its top; what a CPU keeps in a register comes first */
};

struct jp_lat {
	__u64 bucket[JP_LAT_BUCKETS];
};

/* One cache line per CPU and slot. Completions come in any context, so all adds are atomic. */
struct jp_blk {
	__u64 reads; /* requests completed */
	__u64 writes;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 read_ns; /* from the request's start to its completion */
	__u64 write_ns;
	__u64 untimed; /* no start time, or no program saw the end: no time, no histogram */
	__u64 others;  /* flushes, discards and the like */
};

/* Per slot, all CPUs: atomic adds. */
struct jp_blk_lat {
	__u64 all[JP_LAT_BUCKETS];
	__u64 write[JP_LAT_BUCKETS];
};

/* The submitter of a request, and what it asked for. A way is free while it names no request, or no
 * slot. */
struct jp_blk_request {
	__u64 request; /* its address: the kernel uses a fixed set of requests again and again */
	__u64 use;     /* JP_BLK_OVER, or the slot's number and gen, 16 bits each, JP_BLK_WRITE,
			* and from JP_BLK_SECTORS on its sectors at submission */
};
#define JP_BLK_OVER    0xffffull
#define JP_BLK_WRITE   (1ull << 32)
#define JP_BLK_SECTORS 33

/* One cache line: where a request's address may be. */
#define JP_BLK_WAYS 4
struct jp_blk_set {
	struct jp_blk_request way[JP_BLK_WAYS];
};

/* The slot that used a socket. */
struct jp_owner {
	__u32 slot;
	__u32 gen; /* of the slot: a completion after its end goes to slot 0 */
};

/* Of a socket without a peer: the last packet each way passed the loopback device. rx_loop is of
 * softirqs, tx_loop of the tasks that send. */
struct jp_passed {
	__u32 rx_loop;
	__u32 tx_loop;
};

/* The socket without a peer that this CPU sent a packet of last, by its address. */
struct jp_sent {
	__u64 sock;
	__u64 loop;
};

/* Two cache lines per CPU and slot; softirqs and tasks: all adds are atomic. */
struct jp_net {
	__u64 rx_bytes; /* not over loopback */
	__u64 tx_bytes;
	__u64 rx_ops;
	__u64 tx_ops;
	__u64 loop_rx_bytes;
	__u64 loop_tx_bytes;
	__u64 loop_rx_ops;
	__u64 loop_tx_ops;
	__u64 retrans; /* TCP segments sent again */
	__u64 pad[7];
};

/* System calls that succeeded; task context of one CPU. */
struct jp_files {
	__u64 opens;
	__u64 closes;
};

struct jp_pmu_value {
	__u64 counter;
	__u64 running; /* ns the event was on the hardware */
};

/* Three cache lines per CPU and slot. Only writer: that CPU with IRQs off, or in sampled mode the
 * overflow handler there. */
struct jp_pmu {
	__u64 enabled; /* ns the events were wanted */
	__u64 reads;   /* readings or samples */
	struct jp_pmu_value ev[JP_PMU_EVENTS];
	__u64 pad[6];
};

/*
 * What a CPU's counters said last, and for which slot they count since. Writer: that CPU's
 * programs, of which an interrupt keeps off while busy; user space while nothing is open, and where
 * said.
 */
struct jp_pmu_cpu {
	__u32 slot;  /* JP_SLOT_NONE: known when the task leaves (raw tracepoint) */
	__u32 busy;  /* a reading is under way where an interrupt may come between */
	__u32 open;  /* events that are open here, as bits; user space */
	__u32 moved; /* the task that runs here was moved to another slot; any CPU */
	__u32 tgid;  /* raw tracepoint: process that counts since the last reading */
	__u32 pad0;
	__u64 enabled; /* ns the events were wanted; 0: no reading yet, the next is only a base */
	__u64 reads;
	__u64 fails;
	struct jp_pmu_value ev[JP_PMU_EVENTS];
	__u64 waited[JP_PMU_EVENTS]; /* ns wanted but not on the hardware */
	__u64 given[JP_PMU_EVENTS];  /* sampled: counts that slots were given; atomic adds */
	__u64 idle[JP_PMU_EVENTS];   /* of those, in idle: to no slot; atomic adds */
	__u64 period[JP_PMU_EVENTS]; /* sampled: counts per sample; user space, before it opens */
	__u64 pad[2];
};

enum jp_pmu_mode { JP_PMU_OFF = 0, JP_PMU_EXACT, JP_PMU_SAMPLED };

/* Memory of processes when they let go of it, pages. */
struct jp_left {
	__u64 peak; /* the largest peak among them, and of programs that exec replaced */
	__u64 anon; /* of the one with the largest resident set, all to hugetlb */
	__u64 file;
	__u64 shmem;
	__u64 swap;
	__u64 vm;
	__u64 hugetlb;
	__u64 threads; /* living ones of the process that had most when one of them ended */
};

/* What was used under a program's name, by threads that have ended or whose process has become
 * another program. Any CPU: atomic adds, but for the peak and the times. */
struct jp_command {
	__u64 processes; /* that ended under it, or left the step */
	__u64 runtime_ns;
	__u64 run_delay_ns;
	__u64 rchar;
	__u64 wchar;
	__u64 peak;	/* pages: of one process */
	__u64 first_ns; /* CLOCK_BOOTTIME */
	__u64 last_ns;
};

/* Totals of tasks that ended or left; process context on any CPU, so all adds are atomic. */
struct jp_acct {
	__u64 utime_ns;
	__u64 stime_ns;
	__u64 min_flt;
	__u64 maj_flt;
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 forks;	   /* processes */
	__u64 exits;	   /* tasks whose totals were retired */
	__u64 tasks_in;	   /* tasks ever given this slot */
	__u64 life_events; /* fork, exec, exit, attach programs run for this slot */
	__u64 commands;	   /* STEP: names of programs that have an account */
	__u64 exit_maxrss; /* pages: largest peak of a process that has ended */
	__u64 left_seq;	   /* of changes of left */
	__u64 left_acked;  /* user space: it has taken what left was then */
	struct jp_left left;
	/* STEP: of all names that have no account of their own, so there is always one */
	struct jp_command other;
};

/* A rank: its launcher's slot, which may be given again, and its number. */
struct jp_rank_key {
	__u32 task, gen;
	__s32 rank;
};

/* Variables in which launchers say a rank's number: "NAME=". */
#define JP_RANK_NAMES 4
struct jp_rank_name {
	char name[28];
	__u32 len;
};

/* A program's name in a step. */
struct jp_command_key {
	__u32 step; /* its slot */
	char comm[JP_COMM_LEN];
};

/* Counters of the collector, one writer field each, atomic adds. */
struct jp_stats {
	__u64 rb_lost;	       /* events that found the ring full: user space rescans */
	__u64 slots_exhausted; /* cgroups and lineages counted in slot 0 */
	__u64 cgroups_full;    /* cgroups that did not fit the hash */
	__u64 storage_fail;    /* tasks without storage: not counted */
	__u64 env_long;	       /* environments too long to search for SLURM_PROCID */
	__u64 path_long;
	__u64 iter_fail;
	__u64 late_tasks;
	__u64 blk_full;	   /* requests whose owner found no free way */
	__u64 blk_unowned; /* requests without a known owner, those too: counted in slot 0 */
	__u64 sock_fail;   /* sockets that could not be tagged: their retransmits are in slot 0 */
	__u64 pmu_fail;	   /* counters that could not be read */
	__u64 pmu_lost;	   /* samples the kernel throttled, made good by scaling */
	__u64 pmu_missed; /* switches to a task that were not seen, while counters are read there */
	__u64 slots_changed; /* a slot was taken or given back, after its state says so */
	__u64 blk_lost;	     /* requests whose end no program saw: counted without their time */
	__u64 blk_late;	  /* requests that ended after their slot's last row: counted in slot 0 */
	__u64 ranks_lost; /* ranks that found no slot: they count in their task only */
	__u64 commands_full; /* steps whose names found jp_commands full: these count together */
	__u64 samples_lost;  /* samples that found the ring full: their module is unknown */
	__u64 points_lost;   /* that found their ring full */
	__u64 samples_late;  /* booked after their slot had ended: in none */
	__u64 stacks_lost;   /* samples and gaps that found jp_stacks full */
};

/* One element: what a reader must know before it can read the rest, and our own counters. */
struct jp_control {
	__u32 abi;
	__u32 nslots;
	__u32 ncpus;   /* possible */
	__u32 late;    /* not 0: threads of a tracked cgroup may be without a slot */
	__u64 born_ns; /* CLOCK_BOOTTIME of the load */
	__u64 born_real_ns;
	__u64 probe_ns;	   /* calibrated cost of one program run */
	__u64 attached_ns; /* boot time since when all programs are attached, 0: they are not */
	struct jp_stats stats;
	__u64 pcpu_id;	   /* map id of the per-CPU scratch array */
	__u64 shape;	   /* what a daemon must agree on to take these maps over */
	__u32 raw_tp;	   /* sched_switch is the raw tracepoint program */
	__u32 families;	   /* loaded: enum family */
	__u32 pmu_mode;	   /* enum jp_pmu_mode */
	__u32 npmu;	   /* events counted */
	__u32 blind;	   /* JP_BLIND_*: what cannot be had here although its family is loaded */
	__u32 pmu_missing; /* events that this machine cannot count, as bits */
	__u64 pmu_read_ns; /* calibrated cost of one reading of all events, or of one sample */
	__u64 pmu_period[JP_PMU_EVENTS];	       /* sampled: counts per sample */
	char pmu_name[JP_PMU_EVENTS][JP_PMU_NAME_LEN]; /* columns of the events */
	char pmu_text[JP_PMU_TEXT]; /* the mode in words, "": counters were not asked for */
	char net_text[JP_NET_TEXT]; /* network family: how, and what it sees; "": not asked for */
	/* written where the collector leaves its CPU */
	__u64 clock_ns;	       /* the run queues' clock when the next was read; 0: not yet */
	__s64 clock_behind_ns; /* how far CLOCK_MONOTONIC is ahead of it */
	__u64 sample_ns;       /* calibrated cost of one sample, with its interrupt; 0: unknown */
};

#define JP_BLIND_RETRANS  1
#define JP_BLIND_THROTTLE 2 /* a throttled thread waits for a CPU, for all the kernel says */

enum jp_event_type {
	JP_EV_STEP = 1, /* a step's cgroup was made */
	JP_EV_TASK,	/* a task's slot exists or got its global id */
	JP_EV_GONE,	/* a cgroup with a slot was removed */
	JP_EV_EXIT,	/* a lineage root exited */
	JP_EV_LATE,	/* a process with several threads moved: sweep */
	JP_EV_WAKE,	/* a job directory appeared */
	JP_EV_MAPS,	/* a process is being sampled: where is its code? gen: self_exec_id */
};

struct jp_event {
	__u32 type;
	__u32 slot;
	__u32 gen;
	__u32 pid;
	__u64 time_ns; /* CLOCK_BOOTTIME */
};

/* One record of the per-CPU address iterator: address of a CPU's copy = base + its offset. */
struct jp_pcpu_rec {
	__u64 base;
	__u64 cpu;
	__u64 addr;
};

/* What a thread has done since it was last off a CPU, which no account has yet. Clock: that of the
 * run queues, ns. */
struct jp_open {
	__u64 out;     /* since then; 0: not known */
	__u64 move;    /* it counts in its next slot from then on; 0: it has none */
	__u64 arrived; /* on its CPU, if it runs */
	__u64 queued;  /* it waits for a CPU since; 0: it does not */
	__u64 delay;   /* waits for a CPU that have ended, ns */
	__u64 held;    /* JP_CAUSE_THROTTLED: by the quota, ns; the rest is a wait for a CPU */
	__u64 ran;     /* run time, ns, */
	__u64 moved;   /* and that before the move */
	__u64 now;
	__u32 running;
	__u32 cause; /* enum jp_cause, if it is blocked or was */
};

/* What a living task has used. Counts are since the task came to its slot. */
#define JP_CPU_NONE 0xffffffffu
struct jp_task_rec {
	__u32 slot;	  /* memory, faults, I/O, tick time */
	__u32 sched_slot; /* open run time and delay */
	__u32 pid;
	__u32 tgid;
	__u32 cpu;   /* where it runs or ran last: of the run time below; JP_CPU_NONE: not known */
	__u32 ended; /* only its last switch is to come */
	__u64 mm;    /* identity only; 0: no memory, or reported by another thread */
	__u64 start_ns;
	__u64 runtime_ns; /* not yet harvested */
	__u64 run_delay_ns;
	__u64 nvcsw;
	__u64 nivcsw;
	__u64 migrations;
	__u64 iowait_ns;
	__u64 utime_ns;
	__u64 stime_ns;
	__u64 min_flt;
	__u64 maj_flt;
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__s64 rss_file; /* pages; without mm, what the thread has not added to its mm yet */
	__s64 rss_anon;
	__s64 rss_shmem;
	__s64 swap;
	__u64 total_vm;
	__u64 hiwater_rss;
	__u64 hugetlb; /* pages of the base size */
	/* since the process has that name */
	char comm[JP_COMM_LEN];
	__u64 command_runtime_ns;
	__u64 command_run_delay_ns;
	__u64 command_rchar;
	__u64 command_wchar;
	__u32 runnable;	 /* it runs, or waits for a CPU */
	__u32 cpus;	 /* that it may run on */
	__u32 wait_slot; /* of wait, and of open before its move */
	__u32 pad;
	struct jp_open open;
	struct jp_wait wait;
	struct jp_culprits culprits; /* of run_delay_ns */
};

/* A task that user space knows: its number, and when it began, for numbers are given again. */
struct jp_known_task {
	__u32 pid;
	__u32 pad;
	__u64 start_ns;
};

/* Variables of Slurm's in the environment of a step's first program, each with its NUL. */
struct jp_env {
	__u32 len;
	__u32 pad;
	char text[JP_ENV_LEN + JP_ENV_STRING];
};

/* One element: tasks asked for by the process that owns the maps, and what was answered; a task
 * that is being moved has two records, one that has gone none. */
#define JP_ASK_MAX 128
struct jp_asked {
	__u32 ntasks;
	__u32 nrecs;
	struct jp_known_task task[JP_ASK_MAX];
	struct jp_task_rec rec[2 * JP_ASK_MAX];
};

_Static_assert(sizeof(struct jp_component) == 64, "jp_component");
_Static_assert(sizeof(struct jp_cgroup_key) == 16, "jp_cgroup_key");
_Static_assert(sizeof(struct jp_cgroup) == 24, "jp_cgroup");
_Static_assert(sizeof(struct jp_slot) == 104 + JP_PATH_LEN + JP_TITLE_LEN, "jp_slot");
_Static_assert(sizeof(struct jp_sched) == 64, "jp_sched");
_Static_assert(sizeof(struct jp_wait) == 128, "jp_wait");
_Static_assert(sizeof(struct jp_culprits) == 64, "jp_culprits");
_Static_assert(sizeof(struct jp_ring) == 64 + 16 * JP_RAN, "jp_ring");
_Static_assert(sizeof(struct jp_pair_key) == 16, "jp_pair_key");
_Static_assert(sizeof(struct jp_samples) == 96, "jp_samples");
_Static_assert(sizeof(struct jp_page_key) == 24, "jp_page_key");
_Static_assert(sizeof(struct jp_point) == 56, "jp_point");
_Static_assert(sizeof(struct jp_sample) == 48 + 8 * JP_STACK_WORDS, "jp_sample");
_Static_assert(sizeof(struct jp_lat) == 320, "jp_lat");
_Static_assert(sizeof(struct jp_burst_use) == 704, "jp_burst_use");
_Static_assert(sizeof(struct jp_burst) == 56, "jp_burst");
_Static_assert(sizeof(struct jp_left) == 64, "jp_left");
_Static_assert(sizeof(struct jp_acct) == 272, "jp_acct");
_Static_assert(sizeof(struct jp_blk) == 64, "jp_blk");
_Static_assert(sizeof(struct jp_blk_lat) == 640, "jp_blk_lat");
_Static_assert(sizeof(struct jp_blk_set) == 64, "jp_blk_set");
_Static_assert(sizeof(struct jp_owner) == 8, "jp_owner");
_Static_assert(sizeof(struct jp_net) == 128, "jp_net");
_Static_assert(sizeof(struct jp_files) == 16, "jp_files");
_Static_assert(sizeof(struct jp_pmu) == 192, "jp_pmu");
_Static_assert(sizeof(struct jp_pmu_cpu) == 448, "jp_pmu_cpu");
_Static_assert(sizeof(struct jp_stats) == 184, "jp_stats");
_Static_assert(sizeof(struct jp_control) == 688 + JP_PMU_TEXT + JP_NET_TEXT, "jp_control");
_Static_assert(sizeof(struct jp_event) == 24, "jp_event");
_Static_assert(sizeof(struct jp_task_rec) == 560, "jp_task_rec");
_Static_assert(sizeof(struct jp_open) == 80, "jp_open");
_Static_assert(sizeof(struct jp_command_key) == 20, "jp_command_key");
_Static_assert(sizeof(struct jp_command) == 64, "jp_command");
_Static_assert(sizeof(struct jp_known_task) == 16, "jp_known_task");
_Static_assert(sizeof(struct jp_env) == 8 + JP_ENV_LEN + JP_ENV_STRING, "jp_env");
_Static_assert(sizeof(struct jp_asked) == 8 + JP_ASK_MAX * (16 + 2 * sizeof(struct jp_task_rec)),
	       "jp_asked");

#endif
