/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Steps, tasks and ranks: the cgroups by which they are found, the slots in which they count, and
 * the events that tell user space of them.
 */
#ifndef JP_ABI_SLOT_H
#define JP_ABI_SLOT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define JP_PATH_LEN	      192
#define JP_TITLE_LEN	      64
#define JP_ENV_LEN	      4096 /* bytes of stored variables, after which one more may begin */
#define JP_ENV_STRING	      512  /* longer ones are left out */
#define JP_COMPONENTS	      64   /* components of all cgroup layouts together */
#define JP_COMPONENT_CHILDREN 6
#define JP_NAME_LEN	      24
#define JP_CARRIERS	      4 /* cgroup hierarchies followed at once */

/* Slot 0 takes what could not be given a slot; slot 1 is the collector itself. */
#define JP_SLOT_OTHER 0u
#define JP_SLOT_SELF  1u
#define JP_SLOT_FIRST 2u
#define JP_SLOT_NONE  0xffffffffu
#define JP_GTID_NONE  (-1)

/*
 * FREE: in the queue of free slots. ACTIVE: a cgroup or lineage counts here. DRAINING: its cgroup
 * is gone; tasks count here until none has the slot (tasks_in == tasks_out) and its disk requests
 * are over. CLOSED: its last row is being written, or was; disk requests that end now are late and
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
	JP_KIND_STEPD,	 /* slurmstepd itself: not counted */
	JP_KIND_RANK,	 /* slot only: a rank of an MPI launcher within a task */
};

/* Where a slot's global task id comes from; a later one outranks an earlier one. */
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

/* Tables of the node that the steps of all jobs use; each job may have a share of each. */
enum jp_share {
	JP_SHARE_STEPS,	 /* their slots */
	JP_SHARE_SLOTS,	 /* those of tasks, lineages and ranks */
	JP_SHARE_NAMES,	 /* accounts in jp_commands */
	JP_SHARE_STACKS, /* jp_stacks, since it was emptied */
	JP_SHARE_GROUPS, /* directories below the layout in jp_cgroups */
	JP_SHARES
};
/* How much of these tables a job uses. Writer: programs; user space after it has given something
 * back. All jobs of a user have one share, which is counted in one of these jobs: `counted` of the
 * others names it. */
struct jp_job {
	__u32 has[JP_SHARES];
	__u32 is_other; /* the share is counted in another job */
	struct jp_cgroup_key counted;
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
	__u64 end_ns;	 /* its cgroup was removed; 0 while it is there */
	__s32 exit_code; /* wait status of the lineage root, valid with JP_SLOT_F_EXITED */
	__u32 flags;
	__u32 uid;	 /* valid with root_pid, or if not 0 */
	__u32 oom_kills; /* processes of this slot killed by the OOM killer */
	__u32 path_len;	 /* 0 when given by user space from a scan */
	__u32 pad;
	char path[JP_PATH_LEN]; /* below the hierarchy's root */
	/* STEP: the command line of the process that made its cgroup, "": not seen */
	char title[JP_TITLE_LEN];
	__u64 job; /* STEP: id of the job's directory, in its hierarchy */
	/* RANK: its number, and the slot that its launcher counts in, as it was then */
	__s32 rank;
	__u32 task, task_gen;
	__u32 rank_pid; /* its first program, or that of the last launcher where there were several;
			   0: it has exited */
	__u64 left_ns;	/* when the last of its processes that have ended did so */
	__u64 away_ns;	/* when a process first left its cgroup while the root lived; 0: none has */
};
#define JP_SLOT_F_EXITED 1  /* the lineage root has exited */
#define JP_SLOT_F_ENV	 4  /* tasks are known by SLURM_PROCID, as children of slurmstepd */
#define JP_SLOT_F_BASE	 2  /* was running when first seen: counts from a baseline */
#define JP_SLOT_F_DONE	 8  /* its counts are in a complete journal, or nobody wants them */
#define JP_SLOT_F_GIVEN	 16 /* and it is given back, or other slots of its step are already */
#define JP_SLOT_F_TAKEN	 32 /* taken over while births rest: tasks_in may have ended there */

/* A rank: its launcher's slot, which may be given again, and its number. */
struct jp_rank_key {
	__u32 task, gen;
	__s32 rank;
};

/* Variables in which launchers give a rank's number: "NAME=". */
#define JP_RANK_NAMES	   4
#define JP_RANK_NAMES_SRUN 2 /* from this one on, srun sets them too */
struct jp_rank_name {
	char name[28];
	__u32 len;
};

enum jp_event_type {
	JP_EV_STEP = 1, /* a step's cgroup was made */
	JP_EV_TASK,	/* a task's slot exists or got its global id */
	JP_EV_GONE,	/* a cgroup with a slot was removed */
	JP_EV_EXIT,	/* a lineage root exited */
	JP_EV_LATE,	/* a process with several threads moved: sweep */
	JP_EV_WAKE,	/* a job directory appeared */
	JP_EV_MAPS, /* a process is sampled whose memory map is wanted; gen is its self_exec_id */
};

struct jp_event {
	__u32 type;
	__u32 slot;
	__u32 gen;
	__u32 pid;
	__u64 time_ns; /* CLOCK_BOOTTIME */
};

/* Variables of Slurm's in the environment of a step's first program, each with its NUL. */
struct jp_env {
	__u32 len;
	__u32 pad;
	char text[JP_ENV_LEN + JP_ENV_STRING];
};

_Static_assert(sizeof(struct jp_component) == 64, "jp_component");
_Static_assert(sizeof(struct jp_cgroup_key) == 16, "jp_cgroup_key");
_Static_assert(sizeof(struct jp_cgroup) == 24, "jp_cgroup");
_Static_assert(sizeof(struct jp_slot) == 120 + JP_PATH_LEN + JP_TITLE_LEN, "jp_slot");
_Static_assert(sizeof(struct jp_event) == 24, "jp_event");
_Static_assert(sizeof(struct jp_env) == 8 + JP_ENV_LEN + JP_ENV_STRING, "jp_env");

#endif
