/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quantities from which columns are made: the argument `arg` of COL() in schemas/. The rooms
 * that measure them fill arrays that have these enums as indices. */
#ifndef JP_SCHEMA_QUANTITIES_H
#define JP_SCHEMA_QUANTITIES_H

#include "bpf/abi/pmu.h"
#include "bpf/abi/sample.h"
#include "bpf/abi/sched.h"

/*
 * What one slot, task or step has used so far (sample/totals.h). Counters are cumulative since the
 * slot began and never drop. Gauges hold at the snapshot's instant. Times in ns, memory in bytes.
 */
enum total {
	T_CPU,
	T_RUN_DELAY,
	T_VOL_SWITCHES,
	T_INVOL_SWITCHES,
	T_MIGRATIONS,
	T_DISK_WAIT,
	T_USER, /* T_USER and T_SYSTEM add up to T_CPU, see totals__split() */
	T_SYSTEM,
	T_MINOR_FAULTS,
	T_MAJOR_FAULTS,
	T_READ_BYTES,
	T_WRITE_BYTES,
	T_READ_CALLS,
	T_WRITE_CALLS,
	T_DISK_READ_BYTES,
	T_DISK_WRITE_BYTES,
	T_FORKS,
	T_PROBES, /* times a BPF program worked for this slot */
	T_OOM_KILLS,
	T_BLK_READS,
	T_BLK_WRITES,
	T_BLK_READ_BYTES,
	T_BLK_WRITE_BYTES,
	T_BLK_READ_TIME,
	T_BLK_WRITE_TIME,
	T_BLK_UNTIMED, /* requests, counted in reads and writes, whose time is not known */
	T_BLK_OTHERS,  /* flushes, discards and the like */
	T_NET_RX_BYTES,
	T_NET_TX_BYTES,
	T_NET_RX_OPS,
	T_NET_TX_OPS,
	T_NET_LOOP_RX_BYTES,
	T_NET_LOOP_TX_BYTES,
	T_NET_LOOP_RX_OPS,
	T_NET_LOOP_TX_OPS,
	T_TCP_RETRANS,
	T_OPENS,
	T_CLOSES,
	T_WAIT, /* the numbers of struct jp_wait: */
	T_ON_CPU = T_WAIT,
	T_STOLEN,
	T_CPU_WAIT,
	T_BLOCKED, /* JP_CAUSES of them */
	T_WAIT_END = T_BLOCKED + JP_CAUSES - 1,
	T_RUNNING,     /* T_ON_CPU without T_STOLEN */
	T_THREAD_TIME, /* T_ON_CPU, T_CPU_WAIT and all T_BLOCKED */
	T_CULPRITS,    /* the numbers of struct jp_culprits: */
	T_BY_SLOT = T_CULPRITS,
	T_BY_TASK,
	T_BY_OWN_STEP,
	T_BY_OWN_JOB,
	T_BY_OTHER_JOBS,
	T_BY_SYSTEM,
	T_BY_IDLE,
	T_BY_QUOTA,
	T_BY_UNKNOWN,  /* the rest of T_RUN_DELAY */
	T_BY_OWN_TASK, /* T_BY_SLOT and T_BY_TASK */
	T_SAMPLES,     /* all samples; then those of each of JP_MODULES: */
	T_SAMPLED,
	T_FOR_MPI = T_SAMPLED + JP_MODULES,
	T_STACK_SAMPLES, /* of the family stack */
	T_STACK_NS,	 /* cost of taking stacks */
	T_AT_ONCE,	 /* JP_AT_ONCE of them, only of steps: periods of the clock */
	T_AT_ONCE_END = T_AT_ONCE + JP_AT_ONCE - 1,
	T_QUEUED,	      /* threads in the queues of its CPUs, at each look */
	T_QUEUED_BESIDE_IDLE, /* of these, those for which another CPU was idle */
	T_BURST,	      /* run time of bursts that ended */
	T_GAP,		      /* time blocked between bursts */
	T_BURST_LOST,	      /* long bursts that the ring had no room for */
	T_PMU_READS,	      /* readings or samples */
	T_PMU_ENABLED,	      /* ns the events were wanted */
	T_PMU,		      /* JP_PMU_EVENTS of them: counts while on the hardware */
	T_PMU_RUNNING = T_PMU + JP_PMU_EVENTS, /* as many: ns on the hardware */
	T_PMU_END = T_PMU_RUNNING + JP_PMU_EVENTS - 1,
	T_PROCESSES,	  /* of a program's name: processes that have ended */
	T_NOMINAL_CYCLES, /* run time x CPU frequency, in 10^6 cycles of 1 kHz x 1 ns */
	T_HARVESTED,	  /* the CPU time to which T_NOMINAL_CYCLES belongs */
	T_COUNTERS,	  /* gauges from here on */
	T_THREADS = T_COUNTERS,
	T_ANON,
	T_FILE,
	T_SHMEM,
	T_SWAP,
	T_VM,
	T_HUGETLB,
	/* the same values of processes at their end; until snapshot__ack_left() */
	T_LEFT_THREADS,
	T_LEFT_ANON,
	T_LEFT_FILE,
	T_LEFT_SHMEM,
	T_LEFT_SWAP,
	T_LEFT_VM,
	T_LEFT_HUGETLB,
	T_RUNNABLE,	   /* threads that run or wait for a CPU */
	T_ALLOWED_CPUS,	   /* largest number of CPUs that one thread may run on */
	T_PEAK,		   /* of a program's name: largest peak of a process; 0: not known */
	T_FIRST_SEEN,	   /* of a program's name: boot time when it was first seen */
	T_LAST_SEEN,	   /* boot time when it was last seen */
	T_GPU_MEM,	   /* bytes on all GPUs together */
	T_GPU_UTILIZATION, /* thousandths of a percent, of all GPUs together */
	T_GPU_UNKNOWN,	   /* processes whose GPU use is not known */
	T_RISE,		   /* largest peak of a living process that rose since the last snapshot */
	T_EXIT_PEAK, /* largest peak of a process that has ended since then; since the slot began,
			where another process owns the maps */
	T_N
};
#define T_LEFT_N (T_HUGETLB - T_THREADS + 1) /* T_LEFT_THREADS to T_LEFT_HUGETLB */

/* Histograms of a slot: counts since it began. */
enum hist {
	HIST_RUN,   /* JP_LAT_BUCKETS: waits for a CPU */
	HIST_BLK,   /* twice as many: all requests, then writes */
	HIST_BURST, /* as many: bursts, then gaps */
};
#define HIST_CELLS (2 * JP_LAT_BUCKETS)

/* A burst (daemon/record/step_bursts.c). */
enum burst_value {
	BURST_THREAD,
	BURST_RANK,
	BURST_DURATION,
	BURST_ON_CPU,
	BURST_RUN_TIME,
	BURST_GAP,
	BURST_EVENT, /* and JP_PMU_EVENTS of them */
};

/* Values in the files of a step's cgroup (sensor/node/cgroup.h). Bytes and seconds. */
enum cg_value {
	CG_MEM,
	CG_MEM_PEAK,
	CG_MEM_LIMIT,
	CG_MEM_ANON,
	CG_MEM_SHMEM,
	CG_MEM_KERNEL,
	CG_REFAULTS_ANON, /* pages */
	CG_REFAULTS_FILE,
	CG_MEM_HIGH_EVENTS, /* times */
	CG_MEM_MAX_EVENTS,
	CG_THROTTLED,
	CG_THROTTLED_PERIODS,
	CG_PSI_CPU,
	CG_PSI_MEM,
	CG_PSI_IO,
	CG_N
};

/* Energy of the node and of the step (energy/energy.h). */
enum energy_column {
	NODE_POWER, /* W; all others are J in the interval */
	NODE_ENERGY,
	PKG_ENERGY,
	DRAM_ENERGY,
	GPU_ENERGY,
	STEP_ENERGY,
	STEP_STATIC,
	STEP_DYNAMIC,
	STEP_ENERGY_LOW,
	STEP_ENERGY_HIGH,
	OTHER_ENERGY,
	SYSTEM_ENERGY,
	UNALLOCATED_ENERGY,
	ENERGY_COLUMNS
};

#endif
