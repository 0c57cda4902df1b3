// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of maps and programs: names, sizes, and the family that needs each. */
#include <string.h>

#include "kern/internal.h"
#include "kern/probe.h"

/* clang-format off */
const struct map_info kern_maps[M_N] = {
	[M_CONTROL] = {"jp_control", 0, SHAPE_ONE, sizeof(struct jp_control)},
	[M_TASKS] = {"jp_tasks", 0, SHAPE_OWN, 0},
	[M_CGROUPS] = {"jp_cgroups", 0, SHAPE_OWN, 0},
	[M_COMPONENTS] = {"jp_components", 0, SHAPE_OWN, 0},
	[M_SLOTS] = {"jp_slots", 0, SHAPE_SLOT, sizeof(struct jp_slot)},
	[M_SCHED] = {"jp_sched", 0, SHAPE_CPU_SLOT, sizeof(struct jp_sched)},
	[M_LAT] = {"jp_lat", FAM_LATENCY, SHAPE_CPU_SLOT, sizeof(struct jp_lat)},
	[M_WAIT] = {"jp_wait", FAM_WAIT, SHAPE_SLOT, sizeof(struct jp_wait)},
	[M_CULPRITS] = {"jp_culprits", FAM_CULPRIT, SHAPE_CPU_SLOT, sizeof(struct jp_culprits)},
	[M_RINGS] = {"jp_rings", FAM_CULPRIT, SHAPE_CPU, sizeof(struct jp_ring)},
	[M_PAIRS] = {"jp_pairs", FAM_CULPRIT, SHAPE_OWN, 0},
	[M_SAMPLES] = {"jp_samples", FAM_SAMPLE | FAM_STACK, SHAPE_SLOT, sizeof(struct jp_samples)},
	[M_AT_ONCE] = {"jp_at_once", FAM_SAMPLE, SHAPE_SLOT, sizeof(struct jp_at_once)},
	[M_TICKS] = {"jp_ticks", FAM_SAMPLE, SHAPE_OWN, 0},
	[M_PAGES] = {"jp_pages", FAM_SAMPLE, SHAPE_OWN, 0},
	[M_POINTS] = {"jp_points", FAM_FOLD, SHAPE_OWN, 0},
	[M_PERIODS] = {"jp_periods", FAM_FOLD, SHAPE_OWN, 0},
	[M_CROSSINGS] = {"jp_crossings", FOR_REGIONS, SHAPE_OWN, 0},
	[M_TRAPS] = {"jp_traps", FOR_REGIONS, SHAPE_OWN, 0},
	[M_UNBOOKED] = {"jp_unbooked", FAM_SAMPLE, SHAPE_OWN, 0},
	[M_STACKS] = {"jp_stacks", FAM_STACK, SHAPE_OWN, 0},
	[M_STACK_ROOM] = {"jp_stack_room", FAM_STACK, SHAPE_OWN, 0},
	[M_COPIES] = {"jp_copies", FAM_STACK, SHAPE_OWN, 0},
	[M_ACCT] = {"jp_acct", 0, SHAPE_SLOT, sizeof(struct jp_acct)},
	[M_FREE] = {"jp_free", 0, SHAPE_SLOT, 0},
	[M_EVENTS] = {"jp_events", 0, SHAPE_OWN, 0},
	[M_ADOPT] = {"jp_adopt", 0, SHAPE_OWN, 0},
	[M_PCPU] = {"jp_pcpu", 0, SHAPE_OWN, 0},
	[M_OFFSETS] = {"jp_offsets", 0, SHAPE_CPU, 0},
	[M_BLK] = {"jp_blk", FAM_BLOCK, SHAPE_CPU_SLOT, sizeof(struct jp_blk)},
	[M_BLK_LAT] = {"jp_blk_lat", FAM_BLOCK, SHAPE_SLOT, sizeof(struct jp_blk_lat)},
	[M_OWNERS] = {"jp_owners", FAM_BLOCK, SHAPE_OWN, sizeof(struct jp_blk_set)},
	[M_NET] = {"jp_net", FAM_NETWORK, SHAPE_CPU_SLOT, sizeof(struct jp_net)},
	[M_SOCKS] = {"jp_socks", FAM_NETWORK, SHAPE_OWN, 0},
	[M_PASSED] = {"jp_passed", FAM_NETWORK, SHAPE_OWN, 0},
	[M_SENT] = {"jp_sent", FAM_NETWORK, SHAPE_OWN, 0},
	[M_FILES] = {"jp_files", FAM_FILES, SHAPE_CPU_SLOT, sizeof(struct jp_files)},
	[M_PMU] = {"jp_pmu", FAM_PERF, SHAPE_CPU_SLOT, sizeof(struct jp_pmu)},
	[M_PMU_CPU] = {"jp_pmu_cpu", FAM_PERF, SHAPE_CPU, sizeof(struct jp_pmu_cpu)},
	[M_PMU_FDS] = {"jp_pmu_fds", FAM_PERF, SHAPE_OWN, 0},
	[M_ASKED] = {"jp_asked", 0, SHAPE_ONE, sizeof(struct jp_asked)},
	[M_ENVS] = {"jp_envs", 0, SHAPE_SLOT, 0},
	[M_JOBS] = {"jp_jobs", 0, SHAPE_SLOT, 0},
	[M_RANKS] = {"jp_ranks", 0, SHAPE_HALF, 0},
	[M_COMMANDS] = {"jp_commands", 0, SHAPE_OWN, 0},
	[M_BURST_USE] = {"jp_burst_use", FAM_BURST, SHAPE_CPU_SLOT, sizeof(struct jp_burst_use)},
	[M_BURSTS] = {"jp_bursts", FAM_BURST, SHAPE_OWN, 0},
	[M_GONE] = {"jp_gone", 0, SHAPE_OWN, 0},
};

/* The switch program comes first: from then on nothing that a task does is lost. */
const struct program_info kern_progs[P_N] = {
	[P_MKDIR] = {"jp_cgroup_mkdir", 0, USE_ALWAYS},
	[P_SWITCH] = {"jp_sched_switch", 0, USE_TRACED},
	[P_FREED] = {"jp_freed", 0, USE_RESTED},
	[P_MIGRATE] = {"jp_migrate", FAM_CULPRIT, USE_TRACED},
	[P_EXIT] = {"jp_exit", 0, USE_TRACED},
	[P_EXEC] = {"jp_exec", 0, USE_TRACED},
	[P_FORK] = {"jp_fork", 0, USE_TRACED},
	[P_ATTACH] = {"jp_cgroup_attach", 0, USE_TRACED},
	[P_RMDIR] = {"jp_cgroup_rmdir", 0, USE_TRACED},
	[P_BLK_START] = {"jp_block_start", FAM_BLOCK, USE_TRACED},
	[P_BLK_INSERT] = {"jp_block_insert", FAM_BLOCK, USE_TRACED},
	[P_BLK_ISSUE] = {"jp_block_issue", FAM_BLOCK, USE_TRACED},
	[P_BLK_COMPLETE] = {"jp_block_complete", FAM_BLOCK, USE_TRACED},
	[P_BLK_MERGE] = {"jp_block_merge", FAM_BLOCK, USE_TRACED},
	[P_BLK_FREE] = {"jp_request_free", FAM_BLOCK, USE_CALLED},
	[P_ITER] = {"jp_iter", 0, USE_CALLED},
	[P_ASK] = {"jp_ask", 0, USE_CALLED},
	[P_SWEEP] = {"jp_sweep", 0, USE_CALLED},
	[P_PERCPU] = {"jp_percpu", 0, USE_CALLED},
	[P_CARRY] = {"jp_carry", 0, USE_CALLED}, /* only where there is something to carry */
	/* kern_choose_hooks() says which of these */
	[P_SOCK_READY] = {"jp_sock_ready", FAM_NETWORK, USE_TRACED},
	[P_DEV_QUEUE] = {"jp_dev_queue", FAM_NETWORK, USE_TRACED},
	[P_SOCK_SEND] = {"jp_sock_send", FAM_NETWORK, USE_TRACED},
	[P_SOCK_RECV] = {"jp_sock_recv", FAM_NETWORK, USE_TRACED},
	[P_INET_SEND] = {"jp_inet_send", FAM_NETWORK, USE_TRACED},
	[P_INET6_SEND] = {"jp_inet6_send", FAM_NETWORK, USE_TRACED},
	[P_INET_RECV] = {"jp_inet_recv", FAM_NETWORK, USE_TRACED},
	[P_INET6_RECV] = {"jp_inet6_recv", FAM_NETWORK, USE_TRACED},
	[P_INET_PAGE] = {"jp_inet_page", FAM_NETWORK, USE_TRACED},
	[P_SKB_OUT] = {"jp_skb_out", FAM_NETWORK, USE_TRACED},
	[P_SKB_IN] = {"jp_skb_in", FAM_NETWORK, USE_TRACED},
	[P_SOCK_STATE] = {"jp_sock_state", FAM_NETWORK, USE_TRACED},
	[P_RETRANS] = {"jp_retrans", FAM_NETWORK, USE_TRACED},
	[P_RETRANS_SYNACK] = {"jp_retrans_synack", FAM_NETWORK, USE_TRACED},
	[P_OPEN] = {"jp_open", FAM_FILES, USE_TRACED},
	[P_OPENAT] = {"jp_openat", FAM_FILES, USE_TRACED},
	[P_OPENAT2] = {"jp_openat2", FAM_FILES, USE_TRACED},
	[P_CREAT] = {"jp_creat", FAM_FILES, USE_TRACED},
	[P_CLOSE] = {"jp_close", FAM_FILES, USE_TRACED},
	[P_SYS_EXIT] = {"jp_sys_exit", FAM_FILES, USE_TRACED},
	[P_CLOCK] = {"jp_clock", FAM_SAMPLE | FAM_STACK, USE_CALLED},
	[P_POINT] = {"jp_point", FAM_FOLD, USE_CALLED},
	[P_CROSS] = {"jp_cross", FOR_REGIONS, USE_CALLED},
	[P_FLUSH] = {"jp_pmu_flush", FAM_PERF, USE_CALLED},
	[P_SAMPLE] = {"jp_sample0", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 1] = {"jp_sample1", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 2] = {"jp_sample2", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 3] = {"jp_sample3", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 4] = {"jp_sample4", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 5] = {"jp_sample5", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 6] = {"jp_sample6", FAM_PERF, USE_CALLED},
	[P_SAMPLE + 7] = {"jp_sample7", FAM_PERF, USE_CALLED},
};

const char *const kern_events[P_N] = {
	[P_OPEN] = "syscalls/sys_exit_open",
	[P_OPENAT] = "syscalls/sys_exit_openat",
	[P_OPENAT2] = "syscalls/sys_exit_openat2",
	[P_CREAT] = "syscalls/sys_exit_creat",
	[P_CLOSE] = "syscalls/sys_exit_close",
};
/* clang-format on */

unsigned kern_map_entries(const struct kern *k, enum kern_map m)
{
	switch (kern_maps[m].shape) {
	case SHAPE_ONE:
		return 1;
	case SHAPE_CPU:
		return k->ncpus;
	case SHAPE_SLOT:
		return k->nslots;
	case SHAPE_HALF:
		return k->nslots / 2;
	case SHAPE_CPU_SLOT:
		return k->nslots * k->ncpus;
	default:
		return 0;
	}
}

static bool is_on(unsigned family, const struct kern *k)
{
	if (family == FOR_REGIONS)
		return k->opts.nregions;
	return !family || (family & k->families);
}

bool kern_has_map(const struct kern *k, enum kern_map m)
{
	if (m == M_PAIRS && !k->opts.culprit_matrix)
		return false;
	return is_on(kern_maps[m].family, k);
}

/* An event has a handler of its own, and only where it is sampled. */
static bool is_sampled(const struct kern *k, unsigned event)
{
	return k->pmu.mode == JP_PMU_SAMPLED && (k->pmu.usable >> event & 1);
}

bool kern_has_prog(const struct kern *k, enum kern_program p)
{
	if (p >= P_SAMPLE && !is_sampled(k, p - P_SAMPLE))
		return false;
	if (p == P_CARRY && !k->carry && !k->opts.load_all)
		return false;
	return is_on(kern_progs[p].family, k) && !k->unused[p];
}

unsigned kern__resting(const struct kern *k)
{
	return k->control->resting & JP_REST_FAMILIES;
}

unsigned kern_family_of(enum kern_program p)
{
	if (p == P_FORK)
		return JP_REST_BIRTHS;
	return p == P_SWITCH ? FAM_SCHED : kern_progs[p].family;
}

bool kern_rests(const struct kern *k, enum kern_program p)
{
	unsigned family = kern_family_of(p);

	return family && !(family & ~kern__resting(k));
}
