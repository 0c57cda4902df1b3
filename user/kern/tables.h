/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of all maps and programs of the BPF object (tables.c). Part of user/kern. */
#ifndef JP_KERN_TABLES_H
#define JP_KERN_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/jobprof.h"

struct kern;

enum kern_map {
	M_CONTROL,
	M_TASKS,
	M_CGROUPS,
	M_COMPONENTS,
	M_SLOTS,
	M_SCHED,
	M_LAT,
	M_WAIT,
	M_CULPRITS,
	M_RINGS,
	M_PAIRS,
	M_SAMPLES,
	M_AT_ONCE,
	M_TICKS,
	M_PAGES,
	M_UNBOOKED,
	M_POINTS,
	M_PERIODS,
	M_CROSSINGS,
	M_TRAPS,
	M_STACKS,
	M_STACK_ROOM,
	M_COPIES,
	M_ACCT,
	M_FREE,
	M_EVENTS,
	M_ADOPT,
	M_PCPU,
	M_OFFSETS,
	M_BLK,
	M_BLK_LAT,
	M_OWNERS,
	M_NET,
	M_SOCKS,
	M_PASSED,
	M_SENT,
	M_FILES,
	M_PMU,
	M_PMU_CPU,
	M_PMU_FDS,
	M_ASKED,
	M_ENVS,
	M_JOBS,
	M_RANKS,
	M_COMMANDS,
	M_BURST_USE,
	M_BURSTS,
	M_GONE,
	M_N
};

enum kern_program {
	P_MKDIR,
	P_SWITCH,
	P_FREED,
	P_MIGRATE,
	P_EXIT,
	P_EXEC,
	P_FORK,
	P_ATTACH,
	P_RMDIR,
	P_BLK_START,
	P_BLK_INSERT,
	P_BLK_ISSUE,
	P_BLK_COMPLETE,
	P_BLK_MERGE,
	P_BLK_FREE,
	P_ITER,
	P_ASK,
	P_SWEEP,
	P_PERCPU,
	P_CARRY,
	P_SOCK_READY,
	P_DEV_QUEUE,
	P_SOCK_SEND,
	P_SOCK_RECV,
	P_INET_SEND,
	P_INET6_SEND,
	P_INET_RECV,
	P_INET6_RECV,
	P_INET_PAGE,
	P_SKB_OUT,
	P_SKB_IN,
	P_SOCK_STATE,
	P_RETRANS,
	P_RETRANS_SYNACK,
	P_OPEN,
	P_OPENAT,
	P_OPENAT2,
	P_CREAT,
	P_CLOSE,
	P_SYS_EXIT,
	P_CLOCK,
	P_POINT,
	P_CROSS,
	P_FLUSH,
	P_SAMPLE, /* JP_PMU_AT_ONCE of them, the last */
	P_SAMPLE_END = P_SAMPLE + JP_PMU_AT_ONCE - 1,
	P_N
};

/* By what the number of a map's elements is determined; SHAPE_HALF: half as many as there are
 * slots. */
enum map_shape { SHAPE_OWN, SHAPE_ONE, SHAPE_CPU, SHAPE_SLOT, SHAPE_HALF, SHAPE_CPU_SLOT };

/* Stands in place of families: only where kern_opts has regions. */
#define FOR_REGIONS (1u << 31)

struct map_info {
	const char *name;
	unsigned family; /* the map exists only with one of these; 0: always */
	enum map_shape shape;
	size_t mapped; /* size of an element that user space maps; 0: user space does not map it */
};

enum program_use {
	USE_ALWAYS, /* attached from the load on */
	USE_TRACED, /* attached while there are steps, in the table's order */
	USE_RESTED, /* attached once that of switches or of forks has rested, while there are steps
		     */
	USE_CALLED, /* iterators and test runs */
};

struct program_info {
	const char *name;
	unsigned family; /* loaded only with one of these; 0: always */
	enum program_use use;
};

extern const struct map_info kern_maps[M_N];
extern const struct program_info kern_progs[P_N];
/* The event of tracefs, "group/name", to which a program is attached; NULL: the program's section
 * names its place. */
extern const char *const kern_events[P_N];

/* Number of the map's elements in k; 0: the object file has it. */
unsigned kern_map_entries(const struct kern *k, enum kern_map m);
/* That of a map which may be another process's; of a ring the bytes. 0: not known. */
unsigned kern_entries_of(int fd);
/* Whether the map, or program, is loaded with the families of k. */
bool kern_has_map(const struct kern *k, enum kern_map m);
bool kern_has_prog(const struct kern *k, enum kern_program p);
/* The families that need the program, 0: all do. That of switches has FAM_SCHED, that of forks
 * JP_REST_BIRTHS (kern__rest()). */
unsigned kern_family_of(enum kern_program p);
/* Whether the program is not attached, as its family rests. */
bool kern_rests(const struct kern *k, enum kern_program p);

#endif
