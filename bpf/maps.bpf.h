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
	u16 ready; /* all else is filled in; 0: its first place is just being given */
	u32 pcount;
	u64 runtime_ns;
	u64 move_runtime_ns; /* run time when next_slot was asked for */
	u64 run_delay_ns;
	u64 nvcsw;
	u64 nivcsw;
	u64 migrations;
	u64 iowait_from; /* rq clock when it blocked on disk, 0: it did not */
	/* of the family wait; written where the task leaves a CPU, but for the move */
	u64 out; /* when it left last, by the run queue's clock; 0: never, or it is being written */
	u32 cause; /* enum jp_cause, of the gap that began then */
	u32 pad0;
	struct jp_wait wait;
	u64 move_clock;	   /* when next_slot was asked for */
	u64 held_queue;	   /* JP_CAUSE_THROTTLED: the group's run queue that it was throttled in, */
	u64 held_ns;	   /* and how long that had been throttled ever */
	u64 lost_delay_ns; /* of the family culprit: run_delay at its last move to another CPU */
	/* of the family burst; written where the task leaves a CPU */
	u64 burst_from; /* its burst began, by the run queue's clock; 0: none has */
	u64 burst_on;
	u64 burst_ran; /* run time when it began */
	u64 burst_gap; /* blocked before it */
	u64 burst_out; /* the burst before it ended; 0: not seen */
	/* of the family stack (bpf/stack.bpf.h) */
	u64 stack;	 /* jp_stack_key.hash of the gap that began last */
	u32 short_gaps;	 /* causes of which the last gap was short, as bits */
	u32 maps_wanted; /* self_exec_id of the program whose maps were asked for, and one */
	u64 utime_ns;
	u64 stime_ns;
	u64 min_flt;
	u64 maj_flt;
	u64 rchar;
	u64 wchar;
	u64 syscr;
	u64 syscw;
	u64 read_bytes;
	u64 write_bytes;
	u64 maxrss; /* signal_struct.maxrss at the last exec: the peak of the programs before it */
	/* the program that the task counts for in Commands, and what it counts from; process
	 * context and, at the end, the last switch */
	char comm[JP_COMM_LEN];
	u64 comm_runtime_ns;
	u64 comm_run_delay_ns;
	u64 comm_rchar;
	u64 comm_wchar;
	u64 launched; /* what the program's environment said of its rank, 0: nothing */
	u32 envc;     /* variables of a child whose environment named no rank, 0: none was seen */
	u32 pad;
};
#define JP_TASK_LINEAGE 1 /* its slot follows descent, not the cgroup, inside its step */
#define JP_TASK_EXITED	2 /* accounting retired at exit; only the last switch is to come */
#define JP_TASK_MEMORY	4 /* its memory is of a program of its step, and not lent to it by vfork */
#define JP_TASK_RANK	8 /* of a rank: another launcher below does not count apart */

struct jp_scratch {
	char env[4096];
	char name[128];
	u64 at, rest; /* the next string of an environment, and whether it is the rest of one */
	int gtid;
	u32 rank_name; /* of jp_rank_names: which one the rank is from; JP_RANK_NAMES: none */
	int rank;
	struct jp_env kept;
};

#ifdef JP_MAPS_DEFINE
#define JP_MAP
#define JP_VAR
#else
#define JP_MAP extern
#define JP_VAR extern
#endif

struct jp_map_tasks {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jp_task);
};
struct jp_map_cgroups {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct jp_cgroup_key);
	__type(value, struct jp_cgroup);
};
struct jp_map_control {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_control);
};
struct jp_map_components {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JP_COMPONENTS);
	__type(key, u32);
	__type(value, struct jp_component);
};
struct jp_map_slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_slot);
};
struct jp_map_sched {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_sched);
};
struct jp_map_lat {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_lat);
};
struct jp_map_wait {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_wait);
};
struct jp_map_culprits {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_culprits);
};
struct jp_map_rings {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_ring);
};
struct jp_map_pairs {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JP_PAIRS);
	__type(key, struct jp_pair_key);
	__type(value, u64);
};
struct jp_map_samples {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_samples);
};
struct jp_map_at_once {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_at_once);
};
struct jp_map_ticks {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_tick);
};
struct jp_map_pages {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, JP_PAGES);
	__type(key, struct jp_page_key);
	__type(value, u32); /* enum jp_module */
};
struct jp_map_unbooked {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
};
struct jp_map_points {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
};
struct jp_map_crossings {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
};
struct jp_map_traps {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JP_REGIONS + 1);
	__type(key, u32);
	__type(value, u64); /* of all processes */
};
/* As many as user space says. No allocation in interrupts. */
struct jp_map_stacks {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct jp_stack_key);
	__type(value, struct jp_stack);
};
/* A stack that is being taken: at a switch, in an interrupt. */
struct jp_map_stack_room {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct jp_stack);
};
struct jp_map_acct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_acct);
};
struct jp_map_free {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, u32);
};
struct jp_map_events {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
};
struct jp_map_adopt {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);   /* tgid */
	__type(value, u32); /* slot */
};
struct jp_map_pcpu {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_scratch);
};
struct jp_map_offsets {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
};
struct jp_map_blk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_blk);
};
struct jp_map_blk_lat {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_blk_lat);
};
struct jp_map_owners {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* a power of two */
	__type(key, u32);
	__type(value, struct jp_blk_set);
};
struct jp_map_net {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_net);
};
struct jp_map_socks {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jp_owner);
};
struct jp_map_passed {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct jp_passed);
};
struct jp_map_sent {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_sent);
};
struct jp_map_files {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_files);
};
struct jp_map_pmu {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_pmu);
};
struct jp_map_pmu_cpu {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_pmu_cpu);
};
struct jp_map_pmu_fds {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(map_flags, BPF_F_PRESERVE_ELEMS);
	__uint(max_entries, 1); /* event * CPUs + CPU */
	__type(key, u32);
	__type(value, u32);
};
struct jp_map_asked {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_asked);
};
struct jp_map_envs {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_ENVS);
	__type(key, u32); /* slot of the step */
	__type(value, struct jp_env);
};
struct jp_map_ranks {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* half as many as slots */
	__type(key, struct jp_rank_key);
	__type(value, u32); /* slot */
};
struct jp_map_burst_use {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct jp_burst_use);
};
struct jp_map_bursts {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, JP_BURST_RING);
};
struct jp_map_commands {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JP_COMMANDS_ALL);
	__type(key, struct jp_command_key);
	__type(value, struct jp_command);
};

JP_MAP struct jp_map_control jp_control SEC(".maps");
JP_MAP struct jp_map_tasks jp_tasks SEC(".maps");
JP_MAP struct jp_map_cgroups jp_cgroups SEC(".maps");
JP_MAP struct jp_map_components jp_components SEC(".maps");
JP_MAP struct jp_map_slots jp_slots SEC(".maps");
JP_MAP struct jp_map_sched jp_sched SEC(".maps");
JP_MAP struct jp_map_lat jp_lat SEC(".maps");
JP_MAP struct jp_map_wait jp_wait SEC(".maps");
JP_MAP struct jp_map_culprits jp_culprits SEC(".maps");
JP_MAP struct jp_map_rings jp_rings SEC(".maps");
JP_MAP struct jp_map_pairs jp_pairs SEC(".maps");
JP_MAP struct jp_map_samples jp_samples SEC(".maps");
JP_MAP struct jp_map_at_once jp_at_once SEC(".maps");
JP_MAP struct jp_map_ticks jp_ticks SEC(".maps");
JP_MAP struct jp_map_pages jp_pages SEC(".maps");
JP_MAP struct jp_map_unbooked jp_unbooked SEC(".maps");
JP_MAP struct jp_map_points jp_points SEC(".maps");
JP_MAP struct jp_map_crossings jp_crossings SEC(".maps");
JP_MAP struct jp_map_traps jp_traps SEC(".maps");
JP_MAP struct jp_map_stacks jp_stacks SEC(".maps");
JP_MAP struct jp_map_stack_room jp_stack_room SEC(".maps");
JP_MAP struct jp_map_acct jp_acct SEC(".maps");
JP_MAP struct jp_map_free jp_free SEC(".maps");
JP_MAP struct jp_map_events jp_events SEC(".maps");
JP_MAP struct jp_map_adopt jp_adopt SEC(".maps");
JP_MAP struct jp_map_pcpu jp_pcpu SEC(".maps");
JP_MAP struct jp_map_offsets jp_offsets SEC(".maps");
JP_MAP struct jp_map_blk jp_blk SEC(".maps");
JP_MAP struct jp_map_blk_lat jp_blk_lat SEC(".maps");
JP_MAP struct jp_map_owners jp_owners SEC(".maps");
JP_MAP struct jp_map_net jp_net SEC(".maps");
JP_MAP struct jp_map_socks jp_socks SEC(".maps");
JP_MAP struct jp_map_passed jp_passed SEC(".maps");
JP_MAP struct jp_map_sent jp_sent SEC(".maps");
JP_MAP struct jp_map_files jp_files SEC(".maps");
JP_MAP struct jp_map_pmu jp_pmu SEC(".maps");
JP_MAP struct jp_map_pmu_cpu jp_pmu_cpu SEC(".maps");
JP_MAP struct jp_map_pmu_fds jp_pmu_fds SEC(".maps");
JP_MAP struct jp_map_asked jp_asked SEC(".maps");
JP_MAP struct jp_map_envs jp_envs SEC(".maps");
JP_MAP struct jp_map_ranks jp_ranks SEC(".maps");
JP_MAP struct jp_map_burst_use jp_burst_use SEC(".maps");
JP_MAP struct jp_map_bursts jp_bursts SEC(".maps");
JP_MAP struct jp_map_commands jp_commands SEC(".maps");

/* Set before load. */
#ifdef JP_MAPS_DEFINE
const volatile __u32 jp_nslots = 256;
const volatile __u32 jp_ncpus = 1;			/* possible CPUs */
const volatile __u32 jp_families = 0;			/* enum family */
const volatile __u64 jp_burst_min_ns = JP_BURST_MIN_NS; /* shorter bursts are no records */
const volatile __u32 jp_blk_sets = 1;			/* elements of jp_owners */
const volatile bool jp_rq_second = false; /* tracepoints of requests begin with the queue (5.10) */
const volatile __u32 jp_npmu = 0;	  /* events read at a switch between slots, 0: none */
const volatile __u32 jp_nsampled = 0;	  /* events sampled, 0: none */
const volatile bool jp_pmu_idle = false;  /* an event counts while a CPU idles */
const volatile bool jp_regs = false;	  /* a task's registers can be had (5.15) */
const volatile bool jp_count_pairs = false; /* who waited for whom */
const volatile __u32 jp_ncarriers = 1;
const volatile struct jp_carrier jp_carriers[JP_CARRIERS] = {{0, -1}};
const volatile char jp_stepd_comm[16] = "slurmstepd";
const volatile char jp_procid_key[16] __attribute__((aligned(8))) = "SLURM_PROCID=";
const volatile char jp_procid_mask[16]
	__attribute__((aligned(8))) = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
/* Open MPI, MVAPICH, PMIx and PMI (MPICH, Intel MPI) set these, best first: a launcher that another
 * one has started may leave the other's variable there. */
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
extern const volatile bool jp_rq_second;
extern const volatile __u32 jp_nsampled;
extern const volatile bool jp_pmu_idle;
extern const volatile bool jp_regs;
extern const volatile bool jp_count_pairs;
extern const volatile __u32 jp_ncarriers;
extern const volatile struct jp_carrier jp_carriers[JP_CARRIERS];
#endif

static __always_inline struct jp_control *control(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&jp_control, &zero);
}

/* What the task carries, NULL for most of the node's: that is seen without a call. */
static __always_inline struct jp_task *carried(struct task_struct *p)
{
	struct jp_task *t;

	if (bpf_core_field_exists(p->bpf_storage) && !p->bpf_storage)
		return NULL;
	t = bpf_task_storage_get(&jp_tasks, p, 0, 0);
	return t && t->ready ? t : NULL;
}

#define JP_COUNT(field)                                             \
	do {                                                        \
		struct jp_control *__c = control();                 \
		if (__c)                                            \
			__sync_fetch_and_add(&__c->stats.field, 1); \
	} while (0)

#endif
