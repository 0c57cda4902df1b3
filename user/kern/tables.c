// SPDX-License-Identifier: GPL-2.0-only
/* What the object holds, and what of it is there with which families. */
#include <string.h>

#include "kern/internal.h"

/* clang-format off */
const struct map_info kern_maps[M_N] = {
	[M_CONTROL] = {"jp_control", 0, SHAPE_ONE, sizeof(struct jp_control)},
	[M_TASKS] = {"jp_tasks", 0, SHAPE_OWN, 0},
	[M_CGROUPS] = {"jp_cgroups", 0, SHAPE_OWN, 0},
	[M_NODES] = {"jp_nodes", 0, SHAPE_OWN, 0},
	[M_SLOTS] = {"jp_slots", 0, SHAPE_SLOT, sizeof(struct jp_slot)},
	[M_SCHED] = {"jp_sched", 0, SHAPE_CPU_SLOT, sizeof(struct jp_sched)},
	[M_LAT] = {"jp_lat", FAM_LATENCY, SHAPE_CPU_SLOT, sizeof(struct jp_lat)},
	[M_ACCT] = {"jp_acct", 0, SHAPE_SLOT, sizeof(struct jp_acct)},
	[M_FREE] = {"jp_free", 0, SHAPE_SLOT, 0},
	[M_EVENTS] = {"jp_events", 0, SHAPE_OWN, 0},
	[M_ADOPT] = {"jp_adopt", 0, SHAPE_OWN, 0},
	[M_PCPU] = {"jp_pcpu", 0, SHAPE_OWN, 0},
	[M_OFFSETS] = {"jp_offsets", 0, SHAPE_CPU, 0},
	[M_BLK] = {"jp_blk", FAM_BLOCK, SHAPE_CPU_SLOT, sizeof(struct jp_blk)},
	[M_BLK_LAT] = {"jp_blk_lat", FAM_BLOCK, SHAPE_SLOT, sizeof(struct jp_blk_lat)},
	[M_OWNERS] = {"jp_owners", FAM_BLOCK, SHAPE_OWN, 0},
	[M_NET] = {"jp_net", FAM_NETWORK, SHAPE_CPU_SLOT, sizeof(struct jp_net)},
	[M_SOCKS] = {"jp_socks", FAM_NETWORK, SHAPE_OWN, 0},
	[M_FILES] = {"jp_files", FAM_FILES, SHAPE_CPU_SLOT, sizeof(struct jp_files)},
	[M_PMU] = {"jp_pmu", FAM_PERF, SHAPE_CPU_SLOT, sizeof(struct jp_pmu)},
	[M_PMU_CPU] = {"jp_pmu_cpu", FAM_PERF, SHAPE_CPU, sizeof(struct jp_pmu_cpu)},
	[M_PMU_FDS] = {"jp_pmu_fds", FAM_PERF, SHAPE_OWN, 0},
};

/* The switch program first: from then on nothing that a task does is lost, whoever finds it. */
const struct program_info kern_progs[P_N] = {
	[P_MKDIR] = {"jp_cgroup_mkdir", 0, USE_ALWAYS},
	[P_SWITCH] = {"jp_sched_switch", 0, USE_TRACED},
	[P_EXIT] = {"jp_exit", 0, USE_TRACED},
	[P_EXEC] = {"jp_exec", 0, USE_TRACED},
	[P_FORK] = {"jp_fork", 0, USE_TRACED},
	[P_ATTACH] = {"jp_cgroup_attach", 0, USE_TRACED},
	[P_RMDIR] = {"jp_cgroup_rmdir", 0, USE_TRACED},
	[P_BLK_START] = {"jp_block_start", FAM_BLOCK, USE_TRACED},
	[P_BLK_INSERT] = {"jp_block_insert", FAM_BLOCK, USE_TRACED},
	[P_BLK_ISSUE] = {"jp_block_issue", FAM_BLOCK, USE_TRACED},
	[P_BLK_COMPLETE] = {"jp_block_complete", FAM_BLOCK, USE_TRACED},
	[P_ITER] = {"jp_iter", 0, USE_CALLED},
	[P_SWEEP] = {"jp_sweep", 0, USE_CALLED},
	[P_PERCPU] = {"jp_percpu", 0, USE_CALLED},
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
	case SHAPE_CPU_SLOT:
		return k->nslots * k->ncpus;
	default:
		return 0;
	}
}

static bool is_on(unsigned family, const struct kern *k)
{
	return !family || (family & k->families);
}

bool kern_has_map(const struct kern *k, enum kern_map m)
{
	return is_on(kern_maps[m].family, k);
}

bool kern_has_prog(const struct kern *k, enum kern_program p)
{
	if (p == P_BLK_START && k->opts.block_issue)
		return false;
	if ((p == P_BLK_INSERT || p == P_BLK_ISSUE) && !k->opts.block_issue)
		return false;
	return is_on(kern_progs[p].family, k);
}
