/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side: this folder loads the BPF programs (bpf/), attaches and detaches them, keeps
 * their maps pinned across a restart of the daemon, gives slots to cgroups and takes them back, and
 * shows the counters of each slot as plain structs of bpf/jobprof.h. Outside this folder only the
 * helper that follows stacks (daemon/lookup/unwinding.c) calls libbpf: it empties the ring of
 * copied stacks. Other rooms include this header and those of perf events (kern/pmu/perf_*.h); all
 * other headers of the folder are its own.
 *
 * Functions return 0 or -errno and log nothing unless their comment says so; kern__error() has one
 * line on what failed and what to do about it.
 */
#ifndef JP_KERN_KERN_H
#define JP_KERN_KERN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/jobprof.h"
#include "kern/pmu/perf_event.h"

/* A cgroup hierarchy to follow: where it is mounted, and the layout component its root stands for.
 */
struct kern_root {
	uint32_t hier;	     /* kernel id, 0: v2 */
	char controller[32]; /* v1: the controller by which a task's cgroup is found, e.g. "freezer"
			      */
	char mount[256];     /* directory the walk begins in */
	char prefix[256];    /* path below it at which the layouts begin; "": at once */
	uint32_t component;  /* layout component the mounted directory stands for */
};

/* PERF_AUTO: exact where a reading is cheap enough for the budget, else sampled, else off. */
enum kern_perf_mode { PERF_AUTO, PERF_EXACT, PERF_SAMPLED, PERF_OFF };

/* A place in a program's file where threads begin or end a region. */
struct kern_region_place {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* in the file: a counter by which the program sees that somebody traces
			       it; 0: none */
	enum { KERN_REGION_CALL, KERN_REGION_BEGIN, KERN_REGION_END } kind; /* CALL: both */
};

/* Bytes of a text about all regions, with the name of each twice, and how long it paused. */
#define KERN_REGIONS_TEXT (64 + JP_REGIONS * 256)

/* A region of programs that do not name it. */
struct kern_region {
	char name[64];
	int fd;	   /* the file, which stays open */
	bool wait; /* a call is a wait, which ends a burst, and no execution */
	struct kern_region_place *places;
	unsigned nplaces;
};

struct kern_opts {
	const char *pin_dir; /* NULL: pin nothing */
	const char *btf;     /* NULL: the running kernel's */
	unsigned nslots;     /* 0: kern__default_slots() */
	unsigned nstacks; /* FAM_STACK: how many stacks the kernel stores; 0: by the number of CPUs
			   */
	unsigned ncgroups;
	unsigned ring_kb; /* size of the ring of bursts; other rings have a part of that */
	struct kern_root roots[JP_CARRIERS];
	unsigned nroots;
	const struct jp_component *components; /* JP_COMPONENTS of them */
	bool raw_tp;			       /* use the fallback for typed tracepoints */
	bool culprit_matrix;		       /* also count which slot waits for which */
	bool load_all;			       /* also programs that are needed at times only */
	bool follow; /* a task that moves to a cgroup which is not tracked goes on to count in its
		      * slot
		      */
	bool unwind; /* copy stacks, to follow them without frame pointers */
	bool by_cycles;	   /* FAM_FOLD: points are samples of cycles, where a CPU counts them */
	bool block_issue;  /* use the fallback for block_io_start */
	bool net_skb;	   /* use the last resort for the socket tracepoints */
	unsigned families; /* what to load; what this kernel cannot serve is left out */
	const struct perf_event *events; /* FAM_PERF: what to count */
	unsigned nevents;
	enum kern_perf_mode perf_mode;
	uint64_t burst_min_ns; /* FAM_BURST: the shortest burst that is a record; 0: JP_BURST_MIN_NS
				*/
	double perf_budget;    /* percent of each CPU that counting may cost */
	const struct kern_region *regions; /* at most JP_REGIONS; they stay the caller's */
	unsigned nregions;
};

struct kern;
struct btf;

/* Slots of a job with one CPU: its extern step, another step, their tasks, and a rank. */
#define KERN_SLOTS_OF_JOB 5
/* How many slots a node with so many possible CPUs needs; at most what MaxSlots may be. */
unsigned kern__default_slots(unsigned ncpus);

/* Whether the kernel lets this process load the necessary kinds of programs: it does not for root
 * of a user namespace, as in a container, nor for root without CAP_BPF and CAP_PERFMON. */
bool kern__may_load(void);
/* Loads, or takes over what is pinned at pin_dir: the programs themselves if they are the same,
 * else what they have counted. The log says how, where they are not the same. */
int kern__open(struct kern **out, const struct kern_opts *opts);
/* The families of which what the pinned programs had counted could not be carried over to these:
 * they began at 0 then. */
unsigned kern__lost(const struct kern *k);
/* Opens what is pinned at pin_dir for reading only (jobprof-dump). */
int kern__open_pinned(struct kern **out, const char *pin_dir);
/* Closes k; pinned objects stay. NULL is fine. */
void kern__free(struct kern *k);
/* Whether pins can be made there: its parent is on a BPF file system, or jobprofd can mount one
 * there. */
int kern__check_pin_dir(const char *pin_dir);
/* Removes the pins below pin_dir. */
void kern__unpin(const char *pin_dir);
/* One line on the last failure and its remedy. */
const char *kern__error(void);

/* Attaches or detaches all programs but that of cgroup_mkdir, which is attached from kern__open()
 * on. */
int kern__attach(struct kern *k);
void kern__detach(struct kern *k);
bool kern__attached(const struct kern *k);
/* Starts or stops the clocks of samples, which interrupt each CPU. They run from kern__attach() on.
 */
void kern__tick(struct kern *k, bool on);
/* Counts the samples that wait. Those whose process's memory map must be read first are left to a
 * thread: the next snapshot has them. */
void kern__book(struct kern *k);

/*
 * Makes these families rest, and all others work: their programs are detached, or do nothing.
 * FAM_SCHED stands for the program of switches: what the kernel accounts for itself is exact still,
 * but is read for each row and not at each switch, and all that only this program sees rests too.
 * JP_REST_BIRTHS stands for the program of forks: a task is found once it becomes another program,
 * at the next row, or when it ends; what is counted by what tasks carry rests too.
 * Failures are logged. kern__resting(): those that rest now; kern__rested(): and those that have
 * rested at any time since since_ns (boot time): their counts since then are not whole.
 */
void kern__rest(struct kern *k, unsigned families);
unsigned kern__resting(const struct kern *k);
unsigned kern__rested(const struct kern *k, uint64_t since_ns);

/* Registers the cgroups that exist already, gives slots to those that had found none free, retires
 * slots whose cgroup is gone, and puts every task into its slot. *found: number of new steps and
 * tasks. */
int kern__rescan(struct kern *k, unsigned *found);
/* kern__unplaced(): how many steps of the last rescan found no free slot; kern__unplaced_names():
 * the cgroups of some of them; kern__freed(): how many slots have become free since the maps were
 * opened. */
unsigned kern__unplaced(const struct kern *k);
const char *kern__unplaced_names(const struct kern *k);
uint64_t kern__freed(const struct kern *k);
int kern__sweep(struct kern *k);
/* Takes a slot for the processes that descend from root, whose user is uid; JP_SLOT_OTHER: none is
 * free. No process counts there yet: see kern__adopt(). */
uint32_t kern__lineage(struct kern *k, uint32_t step, int gtid, pid_t root, uid_t uid);
/* Puts n processes, at most 8192, in the slots of their lineages, in one pass over all tasks. */
struct kern_adopted {
	uint32_t tgid, slot;
};
int kern__adopt(struct kern *k, const struct kern_adopted *a, unsigned n);
/* Makes the calling process count in slot 1. */
int kern__track_self(struct kern *k);

/* How many disk requests of the step's slots are under way. Requests that the kernel has freed, and
 * whose end no program saw, are first added to the counters, without their time. */
unsigned kern__requests(struct kern *k, uint32_t step);
/* Closes the slot when its last row is read: disk requests that end later count in slot 0, as late.
 */
void kern__close(struct kern *k, uint32_t slot);
/* Releases the slot: kern__reap() frees it when no task has it any more. */
void kern__release(struct kern *k, uint32_t slot);
bool kern__released(const struct kern *k, uint32_t slot);
unsigned kern__reap(struct kern *k); /* returns how many released slots tasks still have */
/* Tasks that the slot has; once its cgroup is gone, those that have ended and are not counted. */
uint64_t kern__tasks_left(const struct kern *k, uint32_t slot);
/* Whether some task may still write to the slot's counters. */
bool kern__held(const struct kern *k, uint32_t slot);

/* Makes kern__events() also call fn with the samples of the family fold. */
void kern__on_points(struct kern *k, void (*fn)(const struct jp_point *p, void *ctx), void *ctx);
/* Whether points may be struct jp_counted_point. */
bool kern__counts_points(const struct kern *k);
/* The index of an event's count among the counts of `events`, as in jp_burst or jp_point; below 0:
 * it has none.
 */
int kern__place_of(uint32_t events, unsigned event);
/* Calls fn with each crossing of a region's probe since the last call. */
void kern__take_crossings(struct kern *k, void (*fn)(const struct jp_crossing *c, void *ctx),
			  void *ctx);
/* How often processes of this node have hit the region's probes. */
uint64_t kern__traps(const struct kern *k, unsigned region);
/* The cost of one hit, ns, measured when the programs were attached. */
double kern__trap_ns(const struct kern *k);
/* Removes the region's probes, and puts them back: 0, or -errno with the reason in kern__error().
 */
void kern__pause_region(struct kern *k, unsigned region);
int kern__resume_region(struct kern *k, unsigned region);
/* Ring buffer: fd for epoll, and a callback per event. */
int kern__event_fd(const struct kern *k);
int kern__events(struct kern *k, void (*fn)(const struct jp_event *ev, void *ctx), void *ctx);

/* Opens the next set of events, where several are counted in turn and the present one has been open
 * long enough. To be called after the rows of a snapshot are written. */
void kern__next_set(struct kern *k);

/*
 * kern__vary_points() changes the period of the clock of points on each CPU; kern__points_due() is
 * when that is due, by clock__boot_ns() (UINT64_MAX: never). With a constant period, a loop that is
 * faster than the samples could look like a slower one.
 */
uint64_t kern__points_due(const struct kern *k);
void kern__vary_points(struct kern *k, uint64_t now_ns);

/* Bursts that the kernel side has reported and that nobody has discarded yet, ordered by their
 * ends.
 */
struct kern_bursts {
	struct jp_burst *b;
	size_t n, max;
};
/* Takes the bursts out of the ring; where there is no room for them the ring fills up, and counts
 * lost bursts. 0 or -errno. */
int kern__read_bursts(struct kern *k);
/* The code that has used a burst sets its slot to JP_SLOT_NONE, and the next reading discards it.
 */
struct kern_bursts *kern__bursts(struct kern *k);

const struct jp_control *kern__control(const struct kern *k);
const struct jp_slot *kern__slot(const struct kern *k, uint32_t slot);
/* Copies Slurm's variables from the environment of the step's first program, as its user has set
 * them; each ends with its NUL. 0; -ENOENT: no program was seen, or there was no room for more
 * steps. */
int kern__env(const struct kern *k, uint32_t step, struct jp_env *env);
void kern__set_gtid(struct kern *k, uint32_t slot, int gtid, enum jp_gtid_source source);
/* Sets the first process of a task that began before the programs were attached. */
void kern__set_root(struct kern *k, uint32_t slot, pid_t pid, uid_t uid);
/* Marks that the slot's counts are no longer needed, or are after all. The former is done before
 * the journal is completed, so that a restart in between makes no second file. */
void kern__set_done(struct kern *k, uint32_t slot, bool done);
unsigned kern__nslots(const struct kern *k);
/* The slots that are not free, those below JP_SLOT_FIRST too, ascending. The table is searched only
 * after a slot was taken or given back: most of a large table is unused most of the time. The list
 * is valid until the next call. */
const uint32_t *kern__used(struct kern *k, unsigned *n);
/*
 * The slots and what they stand for, either at this moment (kern__slots()), so that two calls may
 * see two states, or at a snapshot (snapshot__slots()). used: see kern__used().
 */
struct slots {
	const struct jp_slot *of; /* [number of a slot] */
	const uint32_t *used;
	unsigned n, nused;
};
struct slots kern__slots(struct kern *k);
/*
 * CPU time that a step's processes had used before the programs were attached, in a cgroup that was
 * made before, or before there was a slot for the step: no count has it. UINT64_MAX: not known, for
 * example because the cgroup had gone. 0 also where the cgroup has no CPU time (v1 without
 * cpuacct).
 */
uint64_t kern__missed_ns(const struct kern *k, uint32_t slot);
/* Acknowledges that the counts of ended processes in the slot, up to change seq (struct jp_acct),
 * are in a row. */
void kern__ack_left(struct kern *k, uint32_t slot, uint64_t seq);
/* Whether another process owns the maps. */
bool kern__is_reader(const struct kern *k);
/* Grows whenever the list of kern__used() may have changed. */
uint64_t kern__slots_changed(const struct kern *k);
unsigned kern__ncpus(const struct kern *k);
const struct jp_sched *kern__sched(const struct kern *k, unsigned cpu, uint32_t slot);
/* Counters of families; NULL where the family is off. */
const struct jp_lat *kern__lat(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_burst_use *kern__burst_use(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_wait *kern__wait(const struct kern *k, uint32_t slot);
const struct jp_culprits *kern__culprits(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_samples *kern__samples(const struct kern *k, uint32_t slot);
const struct jp_at_once *kern__at_once(const struct kern *k, uint32_t slot);
/* Whether stacks are copied (struct jp_stack_copy) in a tenth of the samples; kern__take_stacks()
 * has only the stacks that could not be copied then. */
bool kern__unwinds(const struct kern *k);
/* The map of the ring of copies, for the process that reads it. */
int kern__copies_fd(const struct kern *k);
/* Takes all stacks out of the kernel, fn is called with each. 0 or -errno. */
int kern__take_stacks(struct kern *k,
		      void (*fn)(void *ctx, const struct jp_stack_key *key,
				 const struct jp_stack *s),
		      void *ctx);
/* Samples per second and CPU: a prime, so that there is no beat with loops as long as a tick. */
#define SAMPLE_HZ JP_SAMPLE_HZ
const struct jp_blk *kern__blk(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_blk_lat *kern__blk_lat(const struct kern *k, uint32_t slot);
const struct jp_net *kern__net(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_files *kern__files(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_pmu *kern__pmu(const struct kern *k, unsigned cpu, uint32_t slot);
const struct jp_pmu_cpu *kern__pmu_cpu(const struct kern *k, unsigned cpu);
/* Reads the perf counters of CPUs that run a step's tasks, where the last reading is more than
 * age_ns old. In sampled mode it corrects the samples by the counters. */
void kern__flush(struct kern *k, uint64_t age_ns);
const struct jp_acct *kern__acct(const struct kern *k, uint32_t slot);
/* Calls fn with each element of the slot in the maps that user space reads in place, except
 * jp_slots. The element's struct has the map's name; cpu -1: the element is for all CPUs. */
void kern__elements(const struct kern *k, uint32_t slot,
		    void (*fn)(const char *map, int cpu, const void *at, void *ctx), void *ctx);
/* The types of the maps' elements, to be freed. NULL with errno: the kernel does not have them. */
struct btf *kern__types(const struct kern *k);

/* How often tasks have come to slots: while this is unchanged, no unknown task can count. */
struct kern_arrivals {
	uint64_t slots, events;
};
/* The state of one reader of tasks, zeroed before the first use. */
struct kern_tasks {
	struct jp_task_rec *rec; /* what living tasks have used since they came to their slots */
	size_t n, max;
	struct jp_known_task *known; /* the tasks that are asked for the next time */
	size_t nknown, max_known;
	struct kern_arrivals arrivals; /* before the last pass */
	uint64_t pass_ns;	       /* 0: the next one must be a pass */
};
/* Fills t->rec by a pass over all tasks of the node. Where the kernel can be asked for single
 * tasks, and none has come since the last pass, it is asked for the known ones. On -errno no record
 * is valid. */
int kern__tasks(struct kern *k, struct kern_tasks *t);
void kern__tasks_free(struct kern_tasks *t);

/* What steps used under their programs' names: key[n] and use[n]. Zeroed before the first use. */
struct kern_commands {
	struct jp_command_key *key;
	struct jp_command *use;
	unsigned n, max;
};
/* Reads the accounts of all steps, to which processes are added when they end or exec. On -errno
 * none is valid. */
int kern__commands(const struct kern *k, struct kern_commands *c);
void kern__commands_free(struct kern_commands *c);

/* Families that are loaded. */
unsigned kern__families(const struct kern *k);
/* Calls fn for each pair of slots of which one has waited for the other, in ns. -ENOENT: they are
 * not counted. */
int kern__pairs(const struct kern *k,
		void (*fn)(const struct jp_pair_key *pair, uint64_t ns, void *ctx), void *ctx);

/* How a family is measured on this node: "exact", or another way with the reason. The text lives
 * until the next call. */
const char *kern__family_mode(const struct kern *k, enum family f);

/* Whether RSS is exact: it is summed over CPUs, or the kernel has no per-CPU parts. */
bool kern__rss_exact(const struct kern *k);

/* Measures what the switch program adds to a switch, and stores it in the control page. This takes
 * some 20 ms on one CPU, before the programs are attached. -ERANGE: the difference is too small to
 * be measured. */
int kern__calibrate(struct kern *k);

/* Statistics of a program (they need kernel.bpf_stats_enabled or kern__stats_on()). */
struct kern_prog {
	char name[32];
	uint64_t runs, ns, missed;
	uint32_t id;
	uint32_t insns;	 /* verified, 0: the kernel does not say */
	unsigned family; /* enum family: those that need it; 0: all do */
	bool attached;
};
int kern__programs(const struct kern *k, struct kern_prog *out, unsigned max);
/* Runs that the kernel skipped, of all programs since they were loaded. */
uint64_t kern__skipped(const struct kern *k);
int kern__stats_on(void); /* fd that keeps run statistics enabled while open */

/* The features of this kernel, how they were found, and what degrades without them (--check). */
struct kern_feature {
	const char *name;
	const char *how;
	const char *without;
	bool required;
	int state; /* 1 present, 0 absent, -errno: not known */
	char detail[96];
};
unsigned kern__features(struct kern_feature *out, unsigned max, const char *btf);

#endif
