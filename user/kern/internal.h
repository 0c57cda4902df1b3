/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state behind struct kern, for the files of user/kern only. Functions that only this folder
 * calls begin with kern_, those of kern.h with kern__. Further headers are tables.h, probe.h,
 * pmu/pmu.h, region/region.h and sample/sample.h.
 */
#ifndef JP_KERN_INTERNAL_H
#define JP_KERN_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "kern/kern.h"
#include "kern/pmu/pmu.h"
#include "kern/region/region.h"
#include "kern/sample/sample.h"
#include "kern/tables.h"

struct btf;
struct carry;

struct kern {
	struct kern_opts opts;
	struct jp_component components[JP_COMPONENTS];
	char pin_dir[256];
	bool taken_over, readonly;
	bool pinned;		/* maps are pinned, and programs as they are attached */
	struct carry *carry;	/* open while programs of another build are taken over */
	unsigned lost;		/* families whose counts were not taken over from another build */
	int lock;		/* lock of pin_dir, whose maps have one owner */
	struct btf *btf;	/* open while programs are chosen */
	int ssid[JP_CARRIERS];	/* index of the root's controller in css_set.subsys, -1: v2 */
	bool rss_percpu;	/* the kernel keeps RSS in per-CPU counters (6.2) */
	bool rq_second;		/* tracepoints of requests begin with the queue */
	unsigned families;	/* loaded: enum family */
	uint32_t blind;		/* JP_BLIND_* of the families that are loaded */
	bool has_regs;		/* programs can read the registers of tasks */
	bool can_cast;		/* programs can make typed pointers of addresses */
	bool retrans_err;	/* tcp_retransmit_skb has a third argument */
	const char *no_network; /* why the network family is off */
	bool unused[P_N];	/* another program does its work here, or none can */
	unsigned wanted; /* families, of the loaded ones, whose programs are attached: counters may
			    prove too expensive */
	int map[M_N];
	int prog[P_N];
	int link[P_N];
	int iter;	/* link of P_ITER, after the first pass */
	void *mem[M_N]; /* mapped elements, NULL: not mapped */
	struct jp_control *control;
	struct jp_slot *slots;
	struct jp_sched *sched;
	struct jp_acct *acct;
	struct pmu pmu;
	int *clock;  /* by CPU: events of the families sample and stack, -1 or below: none; NULL:
			all */
	int *points; /* the same for points */
	uint64_t varied_ns; /* when the clock of points got its period */
	bool by_cycles;	    /* points are samples of cycles */
	bool many_probes;   /* one link takes many probes of regions */
	int cycles_err;	    /* why they are not, although the configuration wants it */
	struct booker *booker;
	unsigned nslots, ncpus;
	unsigned blk_sets;   /* elements of jp_owners */
	bool *released;	     /* by slot: the daemon is done with it */
	unsigned nreleased;  /* number of released slots */
	uint64_t *unheld_ns; /* by slot: since when no task has it */
	uint64_t *missed_ns; /* by slot: see kern__missed_ns() */
	uint64_t freed;	     /* slots given back */
	unsigned unplaced;   /* steps without a slot at the last rescan */
	bool placed_late;    /* a step got its slot at this rescan (KERN_PLACED_LATE) */
	char unplaced_names[256];
	uint32_t *used; /* slots that are not free, as of used_at */
	unsigned nused;
	uint64_t used_at;	       /* one more than stats.slots_changed; 0: never read */
	uint64_t shared_at, shared_ns; /* shared_at: the same, when shares were counted last;
					  shared_ns: when that was */
	struct ring_buffer *ring, *burst_ring, *crossing_ring;
	struct kern_bursts bursts;
	void (*event_fn)(const struct jp_event *ev, void *ctx);
	void *event_ctx;
	void (*point_fn)(const struct jp_point *p, void *ctx);
	void *point_ctx;
	void (*crossing_fn)(const struct jp_crossing *c, void *ctx);
	void *crossing_ctx;
	struct region_links *region_links; /* by region; NULL: none are attached */
	double trap_ns;
};

/* Sets the line that kern__error() returns. Returns err. */
int kern_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Closes the descriptor if it is open, and sets it to -1. */
void kern_close_fd(int *fd);

/* Takes a free slot, which becomes active, with that kind (JP_KIND_*) and step (itself for a step),
 * for that job. JP_SLOT_OTHER: none is free, or the job has its share. */
uint32_t kern_take_slot(struct kern *k, uint32_t kind, uint32_t step,
			const struct jp_cgroup_key *job);
/* Zeroes the slot's counters and frees it. JP_SLOT_OTHER and JP_SLOT_NONE are fine. */
void kern_give_back(struct kern *k, uint32_t slot);

/* How many entries of a table all jobs together may have. */
unsigned kern_share_room(const struct kern *k, enum jp_share what);
/* As share_key(), job_take() and job_give() of bpf/share.bpf.h. */
struct jp_cgroup_key kern_share_job(const struct jp_slot *step);
/* Whether the job could take one more, which is not taken. */
bool kern_share_left(const struct kern *k, const struct jp_cgroup_key *job, enum jp_share what);
bool kern_share_take(struct kern *k, const struct jp_cgroup_key *job, enum jp_share what);
void kern_share_give(struct kern *k, const struct jp_cgroup_key *job, enum jp_share what);
/* Counts the slots and names that jobs have. */
void kern_share_count(struct kern *k, bool slots_changed);
/* Notes that no job has an entry of that table any more. */
void kern_share_emptied(struct kern *k, enum jp_share what);

/* Closes the ring of bursts. */
void kern_free_bursts(struct kern *k);

/* How many stacks the kernel stores until they are read. */
unsigned kern_stack_entries(const struct kern *k);
/* Size of the ring for copies of stacks, in bytes. */
unsigned kern_copies_size(const struct kern *k);

/* Removes the accounts of the step's program names. */
void kern_forget_commands(struct kern *k, uint32_t step);

/* Maps the counters into memory; where another process made the maps, the control page has the
 * numbers of slots and CPUs. */
int kern_mmap(struct kern *k);
void kern_munmap(struct kern *k);
/* Pins maps, programs and links below pin_dir. */
int kern_pin_all(struct kern *k);
/* Makes this process the owner of pin_dir, if the directory exists. -EBUSY: another living process
 * uses it.
 */
int kern_lock_pins(struct kern *k);
/* The object pinned as kind/name at pin_dir, or -errno. */
int kern_open_pin(const struct kern *k, const char *kind, const char *name);
/* Opens what is pinned at pin_dir. -ENOENT: nothing is; -errno. */
int kern_open_pins(struct kern *k, bool readonly);

/* Attaches the program to its event; the link is pinned where the others are. */
int kern_attach_one(struct kern *k, enum kern_program p);
void kern_detach_one(struct kern *k, enum kern_program p);
/* Notes that these families rested until now, under another process or other programs. */
void kern_rest_ended(struct kern *k, unsigned families);
/* The maps are taken over: what rested under the process before works from kern__attach() on. */
void kern_rest_taken_over(struct kern *k);
/* Id of an event "group/name" of tracefs, or -errno. */
int kern_event_id(const char *event);
/* A link from the root of cgroup v2 to P_SKB_IN or P_SKB_OUT, loaded; or -errno. */
int kern_link_packets(enum kern_program p, int prog_fd);
/* Begins a new pass of an iterator program, whose records are read from the fd; or -errno. */
int kern_iterate(int prog_fd);
/* Tells the programs where each CPU's copy of a per-CPU variable is. 0, also where the kernel does
 * not give the offsets. */
int kern_offsets(struct kern *k);
/* Records the CPU time that steps have used uncounted: of all, when the programs have just been
 * attached; late: of those whose missed_ns is KERN_PLACED_LATE, when their tasks count. */
#define KERN_PLACED_LATE (UINT64_MAX - 1)
void kern_record_missed(struct kern *k, bool late);

#endif
