/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps and settings shared by all programs. bpf/maps.bpf.c defines them; the rest see externs. */
#ifndef JP_MAPS_BPF_H
#define JP_MAPS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/jobprof.h"

/*
 * What a task carries. slot and the scheduler bases are written where the task leaves a CPU (rq
 * lock held) and nowhere else once the task runs; next_slot and the accounting bases are written
 * in process context by fork, exec, attach, exit and the sweep. A move is asked for by next_slot
 * and takes place at the next switch, so that no count is split between two writers.
 */
struct jp_task {
	u32 slot;
	u32 next_slot;
	u16 flags;
	u16 ready; /* 1 when all else is filled in; 0 while its first slot is being given */
	u32 pcount;
	u64 cpu_ns;
	u64 move_cpu_ns; /* run time when next_slot was asked for */
	u64 run_delay_ns;
	u64 vol_switches;
	u64 invol_switches;
	u64 migrations;
	u64 iowait_from; /* rq clock when it blocked on disk, 0: it did not */
	/* of the family wait; written where the task leaves a CPU, but for the move */
	u64 out; /* when it left last, by the run queue's clock; 0: never, or it is being written */
	u32 cause; /* enum jp_cause, of the gap that began then */
	u32 seen;  /* jp_control.resting at its last switch */
	struct jp_wait wait;
	u64 move_clock;	   /* when next_slot was asked for */
	u64 held_queue;	   /* JP_CAUSE_THROTTLED: the group's run queue in which it was throttled */
	u64 held_ns;	   /* how long that queue had been throttled in all by then */
	u64 lost_delay_ns; /* family culprit: run_delay at its last move to another CPU */
	struct jp_culprits
		moved_by; /* what had the first CPU until that move, since the thread left a CPU */
	/* of the family burst; written where the task leaves a CPU */
	u64 burst_from; /* when its burst began, by the run queue's clock; 0: there is none */
	u64 burst_on;
	u64 burst_ran; /* run time when it began */
	u64 burst_gap; /* blocked before it */
	u64 burst_out; /* when the burst before it ended; 0: not seen */
	/* of a call that is a wait (bpf/region.bpf.c) */
	u64 call_at;	/* when it began, by the run queue's clock; 0: there is none */
	u64 call_ran;	/* run time until then */
	u64 call_frame; /* the stack's top before it; not 0 where its program makes such calls */
	/* with the family perf */
	u64 burst_count[JP_PMU_AT_ONCE]; /* by place among the bits of burst_events */
	u32 burst_events;		 /* events of its slices so far; 0: there was none */
	u32 burst_shared; /* as jp_burst.shared; JP_BURST_UNCOUNTED: a slice has no counts */
	/* the same of the family fold, over all of its time */
	u64 counted[JP_PMU_AT_ONCE];
	u32 counted_events;
	u32 uncounted; /* places of which counts are missing since the last point, as bits */
	/* of the family stack (bpf/stack.bpf.h) */
	u64 stack;	 /* jp_stack_key.hash of the gap that began last */
	u32 short_gaps;	 /* causes of which the last gap was short, as bits */
	u32 maps_wanted; /* one more than the self_exec_id of the program whose maps were asked for
			  */
	u64 user_ns;
	u64 system_ns;
	u64 minor_faults;
	u64 major_faults;
	u64 read_bytes;
	u64 write_bytes;
	u64 read_calls;
	u64 write_calls;
	u64 disk_read_bytes;
	u64 disk_write_bytes;
	u64 maxrss; /* signal_struct.maxrss at the last exec: the peak of the programs before it */
	/* the program that the task counts for in Commands, and what it counts from; process
	 * context and, at the end, the last switch */
	char comm[JP_COMM_LEN];
	u64 comm_cpu_ns;
	u64 comm_run_delay_ns;
	u64 comm_read_bytes;
	u64 comm_write_bytes;
	u64 launched; /* result of env_rank() for its program, or JP_UNSEEN */
	u32 envc;     /* variables of a child whose environment named no rank, 0: none was seen */
	u32 ended;    /* 1, of a leader: a thread was the last of its process */
};
#define JP_UNSEEN	~0ull /* the program began before it was seen */
#define JP_TASK_LINEAGE 1     /* its slot follows descent, not the cgroup, inside its step */
#define JP_TASK_EXITED	2     /* accounting retired at exit; only the last switch is to come */
#define JP_TASK_MEMORY \
	4 /* its memory belongs to a program of its step, and is not lent to it by vfork */
#define JP_TASK_RANK 8 /* it belongs to a rank: another launcher below makes no ranks */

struct jp_scratch {
	char env[4096];
	char name[128];
	u64 at, rest; /* the next string of an environment, and whether it continues the one before
		       */
	int gtid;
	u32 rank_name; /* index in jp_rank_names of the variable that the rank is from;
			  JP_RANK_NAMES: none */
	int rank;
	struct jp_env kept;
};

#ifdef JP_MAPS_DEFINE
#define JP_MAP
#else
#define JP_MAP extern
#endif

/* Defines a map, or declares it. User space gives most of them another size before the load. */
#define JP_MAP_OF(name, kind, flags, entries, key_type, value_type) \
	struct jp_map_##name {                                      \
		__uint(type, BPF_MAP_TYPE_##kind);                  \
		__uint(map_flags, flags);                           \
		__uint(max_entries, entries);                       \
		__type(key, key_type);                              \
		__type(value, value_type);                          \
	};                                                          \
	JP_MAP struct jp_map_##name jp_##name SEC(".maps")
/* Read in place by user space. */
#define JP_ARRAY(name, value)	     JP_MAP_OF(name, ARRAY, BPF_F_MMAPABLE, 1, u32, value)
#define JP_CPU_ARRAY(name, n, value) JP_MAP_OF(name, PERCPU_ARRAY, 0, n, u32, value)
#define JP_HASH(name, n, key, value) JP_MAP_OF(name, HASH, 0, n, key, value)
#define JP_LRU(name, n, key, value)  JP_MAP_OF(name, LRU_HASH, 0, n, key, value)
#define JP_OF_TASK(name, value)	     JP_MAP_OF(name, TASK_STORAGE, BPF_F_NO_PREALLOC, 0, int, value)
#define JP_OF_SOCK(name, value)	     JP_MAP_OF(name, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, value)
#define JP_RINGBUF(name)                            \
	struct jp_map_##name {                      \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, 4096);          \
	};                                          \
	JP_MAP struct jp_map_##name jp_##name SEC(".maps")

JP_ARRAY(control, struct jp_control);
JP_OF_TASK(tasks, struct jp_task);
JP_OF_TASK(was, struct jp_task); /* user space puts the map of an earlier build in its place */
JP_HASH(cgroups, 1, struct jp_cgroup_key, struct jp_cgroup);
JP_MAP_OF(components, ARRAY, 0, JP_COMPONENTS, u32, struct jp_component);
JP_ARRAY(slots, struct jp_slot);
JP_ARRAY(sched, struct jp_sched);
JP_ARRAY(lat, struct jp_lat);
JP_ARRAY(wait, struct jp_wait);
JP_ARRAY(culprits, struct jp_culprits);
JP_ARRAY(rings, struct jp_ring);
JP_LRU(pairs, JP_PAIRS, struct jp_pair_key, u64);
JP_ARRAY(samples, struct jp_samples);
JP_ARRAY(at_once, struct jp_at_once);
JP_CPU_ARRAY(ticks, 1, struct jp_tick);
JP_LRU(pages, JP_PAGES, struct jp_page_key, u32); /* enum jp_module */
JP_RINGBUF(unbooked);
JP_RINGBUF(points);
JP_CPU_ARRAY(periods, 1, u64); /* of the clock of points now, ns; 0: not known */
JP_RINGBUF(crossings);
JP_MAP_OF(traps, ARRAY, 0, JP_REGIONS + 1, u32, u64);	  /* of all processes */
JP_HASH(stacks, 1, struct jp_stack_key, struct jp_stack); /* no allocation in interrupts */
/* A stack that is being taken: at a switch, in an interrupt; and the count of samples. */
JP_CPU_ARRAY(stack_room, 3, struct jp_stack);
JP_RINGBUF(copies);
JP_ARRAY(acct, struct jp_acct);
JP_RINGBUF(events);
JP_HASH(adopt, 8192, u32, u32); /* slot by tgid */
JP_CPU_ARRAY(pcpu, 1, struct jp_scratch);
JP_MAP_OF(offsets, ARRAY, 0, 1, u32, u64);
JP_ARRAY(blk, struct jp_blk);
JP_ARRAY(blk_lat, struct jp_blk_lat);
JP_ARRAY(owners, struct jp_blk_set); /* a power of two */
JP_ARRAY(net, struct jp_net);
JP_OF_SOCK(socks, struct jp_owner);
JP_OF_SOCK(passed, struct jp_passed);
JP_CPU_ARRAY(sent, 1, struct jp_sent);
JP_ARRAY(files, struct jp_files);
JP_ARRAY(pmu, struct jp_pmu);
JP_ARRAY(pmu_cpu, struct jp_pmu_cpu);
JP_MAP_OF(pmu_fds, PERF_EVENT_ARRAY, BPF_F_PRESERVE_ELEMS, 1, u32, u32); /* event * CPUs + CPU */
JP_ARRAY(asked, struct jp_asked);
JP_HASH(envs, 1, u32, struct jp_env);		       /* by slot of the step */
JP_HASH(jobs, 1, struct jp_cgroup_key, struct jp_job); /* by the job's directory */
JP_HASH(ranks, 1, struct jp_rank_key, u32);	       /* slots; half as many as there are */
JP_ARRAY(burst_use, struct jp_burst_use);
JP_RINGBUF(bursts);
JP_HASH(commands, JP_COMMANDS_ALL, struct jp_command_key, struct jp_command);
/* Slots of tasks that have ended and whose birth nobody has seen, by the address of the task. */
JP_HASH(gone, 4096, u64, u32);

struct jp_map_free {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, u32);
};
JP_MAP struct jp_map_free jp_free SEC(".maps");

/* Set before load. */
#ifdef JP_MAPS_DEFINE
const volatile __u32 jp_nslots = 256;
const volatile __u32 jp_ncpus = 1;			/* possible CPUs */
const volatile __u32 jp_families = 0;			/* enum family */
const volatile __u64 jp_burst_min_ns = JP_BURST_MIN_NS; /* shorter bursts are no records */
const volatile __u32 jp_blk_sets = 1;			/* elements of jp_owners */
const volatile __u32 jp_share_room[JP_SHARES] = {0};
const volatile bool jp_rq_second = false; /* tracepoints of requests begin with the queue (5.10) */
const volatile __u32 jp_npmu = 0;	  /* events read at a switch between slots, 0: none */
const volatile __u32 jp_nsampled = 0;	  /* events sampled, 0: none */
const volatile bool jp_pmu_idle = false;  /* an event counts while a CPU idles */
const volatile bool jp_regs = false;	  /* a task's registers can be had (5.15) */
const volatile bool jp_unwind = false;	  /* stacks are copied */
const volatile bool jp_count_pairs = false; /* who waited for whom */
const volatile bool jp_follow =
	false; /* a task that leaves all tracked cgroups goes on to count in its slot */
const volatile __u32 jp_ncarriers = 1;
const volatile struct jp_carrier jp_carriers[JP_CARRIERS] = {{0, -1}};
const volatile char jp_stepd_comm[16] = "slurmstepd";
const volatile char jp_procid_key[16] __attribute__((aligned(8))) = "SLURM_PROCID=";
const volatile char jp_procid_mask[16]
	__attribute__((aligned(8))) = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
/* Open MPI, MVAPICH, PMIx and PMI (MPICH, Intel MPI) set these, best first: a launcher that another
 * one has started may leave the variable of the other. */
const volatile struct jp_rank_name jp_rank_names[JP_RANK_NAMES] = {
	{"OMPI_COMM_WORLD_RANK=", 21},
	{"MV2_COMM_WORLD_RANK=", 20},
	{"PMIX_RANK=", 10},
	{"PMI_RANK=", 9},
};
#else
extern const volatile char jp_stepd_comm[16];
extern const volatile char jp_procid_key[16];
extern const volatile char jp_procid_mask[16];
extern const volatile struct jp_rank_name jp_rank_names[JP_RANK_NAMES];
extern const volatile __u32 jp_nslots;
extern const volatile __u32 jp_ncpus;
extern const volatile __u32 jp_families;
extern const volatile __u32 jp_npmu;
extern const volatile __u64 jp_burst_min_ns;
extern const volatile __u32 jp_blk_sets;
extern const volatile __u32 jp_share_room[JP_SHARES];
extern const volatile bool jp_rq_second;
extern const volatile __u32 jp_nsampled;
extern const volatile bool jp_pmu_idle;
extern const volatile bool jp_regs;
extern const volatile bool jp_unwind;
extern const volatile bool jp_count_pairs;
extern const volatile bool jp_follow;
extern const volatile __u32 jp_ncarriers;
extern const volatile struct jp_carrier jp_carriers[JP_CARRIERS];
#endif

static __always_inline struct jp_control *control(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&jp_control, &zero);
}

static __always_inline u32 resting_now(void)
{
	struct jp_control *c = control();

	return c ? c->resting : 0;
}

/* Whether the family is loaded, and does not rest. */
static __always_inline bool works(u32 family, u32 resting)
{
	return (jp_families & family) && !(resting & family);
}

/* What the task carries; NULL for most tasks of the node. */
static __always_inline struct jp_task *stored(struct task_struct *p)
{
	struct jp_task *t = bpf_task_storage_get(&jp_tasks, p, 0, 0);

	return t && t->ready ? t : NULL;
}

/*
 * The same where nanoseconds matter: most tasks have no storage, which this sees without a call.
 * Programs for which nanoseconds do not matter use stored(): from 6.3 on the verifier searches all
 * types of the kernel by name, up to four times, for a pointer that is loaded through a trusted
 * one, which took a millisecond and more on each path, half of the time of a start.
 */
static __always_inline struct jp_task *carried(struct task_struct *p)
{
	if (bpf_core_field_exists(p->bpf_storage) && !p->bpf_storage)
		return NULL;
	return stored(p);
}

#define JP_COUNT(field)                                             \
	do {                                                        \
		struct jp_control *__c = control();                 \
		if (__c)                                            \
			__sync_fetch_and_add(&__c->stats.field, 1); \
	} while (0)

#endif
