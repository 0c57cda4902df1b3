/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The ABI between the BPF programs, jobprofd and jobprof-dump: every struct here and in bpf/abi
 * lives in a map. Fixed width, no implicit padding, sizes asserted. A change of any of them raises
 * JP_ABI_VERSION, so that nobody reads maps of another layout as if they had this one. A daemon of
 * another build copies what it finds in them, field by field and by the fields' names
 * (user/kern/carry.c). A name that gets another meaning, such as another unit or other numbers of
 * an enum, makes JP_ABI_FROM equal to JP_ABI_VERSION.
 */
#ifndef JOBPROF_H
#define JOBPROF_H

#include "bpf/abi/account.h"
#include "bpf/abi/burst.h"
#include "bpf/abi/family.h"
#include "bpf/abi/io.h"
#include "bpf/abi/pmu.h"
#include "bpf/abi/region.h"
#include "bpf/abi/sample.h"
#include "bpf/abi/sched.h"
#include "bpf/abi/slot.h"
#include "bpf/abi/task.h"

#define JP_ABI_VERSION 39
#define JP_ABI_FROM    34 /* since then each name means what it means now */

/* Counters of the collector, one writer field each, atomic adds. */
struct jp_stats {
	__u64 rb_lost;	       /* events that found the ring full: user space rescans */
	__u64 slots_exhausted; /* steps counted in slot 0 */
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
	__u64 pmu_lost;	   /* samples that the kernel throttled; counts are scaled for them */
	__u64 pmu_missed; /* switches to a task that were not seen, while counters are read there */
	__u64 slots_changed; /* how often a slot was taken or given back; it rises after the slot's
				state has changed */
	__u64 blk_lost;	     /* requests whose end no program saw: counted without their time */
	__u64 blk_late;	    /* requests that ended after their slot's last row: counted in slot 0 */
	__u64 samples_late; /* samples that came after their slot had ended: they count nowhere */
	__u64 crossings_lost; /* begins and ends of regions that found their ring full */
};

/* One element: what a reader must know before it can read the rest, and our own counters. */
struct jp_control {
	__u32 abi;
	__u32 nslots;
	__u32 ncpus;   /* possible */
	__u32 late;    /* not 0: threads of a tracked cgroup may be without a slot */
	__u64 born_ns; /* CLOCK_BOOTTIME of the load */
	__u64 born_real_ns;
	__u64 probe_ns; /* calibrated cost of one program run */
	__u32 resting;	/* families that do no work for now: JP_REST_FAMILIES */
	__u32 changing; /* not 0: not all is pinned yet, or another build takes it over. Who dies
			   meanwhile leaves what nobody can go on with */
	struct jp_stats stats;
	__u64 pcpu_id; /* map id of the per-CPU scratch array */
	__u64 shape; /* hash of the settings that a daemon must have too in order to take these maps
			over */
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
	__u32 pmu_set;	       /* the open one of the sets that are counted in turn */
	__u32 pmu_sets;	       /* how many there are */
	__u64 calls_from; /* calls that are waits are seen from then on, by the run queues' clock;
			   * JP_CALLS_PAUSED: they are not */
	__u32 taken[JP_SHARES]; /* by all jobs together */
	__u32 abi_from;		/* JP_ABI_FROM */
	__u64 attached_ns;	/* boot time at which all programs were attached; 0: they are not
				   attached */
	__u64 probe_run_ns; /* what the kernel's statistics say of that run; 0: they cannot be had
			     */
	/* tasks whose birth nobody has seen (bpf/task.bpf.h) */
	__u32 noted;   /* entries of jp_gone */
	__u32 descent; /* not 0: there are slots that tasks get by descent */
	__u32 unseen;  /* not 0: such tasks may live, or just have ended */
	__u32 pad;
	/* by the bit of a family: boot time at which it rested last; UINT64_MAX: it does now */
	__u64 rested_ns[JP_REST_BITS];
};

#define JP_CALLS_PAUSED (~0ull)

#define JP_BLIND_RETRANS 1
#define JP_BLIND_THROTTLE \
	2 /* the kernel does not tell a throttled thread from one that waits for a CPU */

_Static_assert(sizeof(struct jp_stats) == 152, "jp_stats");
_Static_assert(sizeof(struct jp_control) == 1496 + 8 * JP_REST_BITS + JP_PMU_TEXT + JP_NET_TEXT,
	       "jp_control");

#endif
