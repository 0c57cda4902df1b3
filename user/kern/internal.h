/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_KERN_INTERNAL_H
#define JP_KERN_INTERNAL_H

#include <stddef.h>

#include "kern/kern.h"
#include "kern/pmu.h"

struct btf;

enum kern_map {
	M_CONTROL,
	M_TASKS,
	M_CGROUPS,
	M_NODES,
	M_SLOTS,
	M_SCHED,
	M_LAT,
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
	M_N
};

enum kern_program {
	P_MKDIR,
	P_SWITCH,
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
	P_FLUSH,
	P_SAMPLE, /* JP_PMU_EVENTS of them, the last */
	P_SAMPLE_END = P_SAMPLE + JP_PMU_EVENTS - 1,
	P_N
};

/* How many elements a map has. */
enum map_shape { SHAPE_OWN, SHAPE_ONE, SHAPE_CPU, SHAPE_SLOT, SHAPE_CPU_SLOT };

struct map_info {
	const char *name;
	unsigned family; /* there only with one of these; 0: always */
	enum map_shape shape;
	size_t mapped; /* size of an element that user space maps, 0: it does not */
};

enum program_use {
	USE_ALWAYS, /* attached from the load on */
	USE_TRACED, /* attached while there are steps, in the table's order */
	USE_CALLED, /* iterators and test runs */
};

struct program_info {
	const char *name;
	unsigned family; /* loaded only with one of these; 0: always */
	enum program_use use;
};

extern const struct map_info kern_maps[M_N];
extern const struct program_info kern_progs[P_N];
/* Event of tracefs, "group/name", that a program is put on; NULL: the program knows its place. */
extern const char *const kern_events[P_N];

struct kern {
	struct kern_opts opts;
	struct jp_node nodes[JP_NODES];
	char pin_dir[256];
	bool adopted, readonly;
	int lock;		/* of pin_dir: its maps have one owner */
	struct btf *btf;	/* while programs are chosen */
	int ssid[JP_CARRIERS];	/* index of the root's controller in css_set.subsys, -1: v2 */
	bool rss_percpu;	/* the kernel keeps RSS in per-CPU counters (6.2) */
	bool rq_second;		/* tracepoints of requests begin with the queue */
	unsigned families;	/* loaded: enum family */
	uint32_t blind;		/* JP_BLIND_* of the families that are loaded */
	bool retrans_err;	/* tcp_retransmit_skb has a third argument */
	const char *no_network; /* why the network family is off */
	bool unused[P_N];	/* another program does its work here, or none can */
	unsigned wanted; /* of the loaded ones' tracepoints; the counters may prove too dear */
	int map[M_N];
	int prog[P_N];
	int link[P_N];
	int iter;	/* link of P_ITER, once there was a pass */
	void *mem[M_N]; /* mapped elements, NULL: not mapped */
	struct jp_control *control;
	struct jp_slot *slots;
	struct jp_sched *sched;
	struct jp_acct *acct;
	struct pmu pmu;
	unsigned nslots, ncpus;
	unsigned blk_sets;   /* elements of jp_owners */
	bool *released;	     /* by slot: the daemon is done with it */
	unsigned nreleased;  /* of them */
	uint64_t *quiet_ns;  /* by slot: since when nothing holds it */
	uint64_t *missed_ns; /* by slot: see kern__missed_ns() */
	uint64_t freed;	     /* slots given back */
	unsigned unplaced;   /* cgroups without a slot at the last rescan */
	uint32_t *used;	     /* slots that are not free, as of used_at */
	unsigned nused;
	uint64_t used_at; /* stats.slots_changed, and one; 0: not looked yet */
	struct ring_buffer *ring;
	void (*event_fn)(const struct jp_event *ev, void *ctx);
	void *event_ctx;
};

int kern_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kern_close_fd(int *fd);
/* Loads maps and programs for the families of k and keeps them as file descriptors. */
int kern_load(struct kern *k);
/* k->btf, NULL if the kernel has none. -EINVAL: the file given for it is none. */
int kern_btf_open(struct kern *k);
void kern_btf_close(struct kern *k);
/* Finds the roots' controllers; -ENOENT. */
int kern_choose_carriers(struct kern *k);
/* Arguments of a tracepoint, 0 if there is no such one. */
unsigned kern_tracepoint_args(const struct btf *btf, const char *tracepoint);
/* What pinned maps must agree on to be taken over. */
uint64_t kern_shape(const struct kern *k);
int kern_mmap(struct kern *k);
void kern_munmap(struct kern *k);
/* Elements the map has in k; 0: a number of its own. */
unsigned kern_map_entries(const struct kern *k, enum kern_map m);
/* It is there with the families that are loaded. */
bool kern_has_map(const struct kern *k, enum kern_map m);
bool kern_has_prog(const struct kern *k, enum kern_program p);
/* Sets k->families: of those asked for, what this kernel can serve. */
void kern_probe_families(struct kern *k);
/* Who submits a request is told at its start or, before 6.5, only at insert and issue; before 5.11
 * those tracepoints begin with the queue. */
void kern_choose_block(struct kern *k);
/* Elements for jp_owners, by the requests that this node's disks can have; a power of two. */
unsigned kern_blk_sets(void);
/* Name of a disk that keeps no times (iostats = 0), "" without. */
void kern_untimed_disk(char name[32]);
/* Chooses between programs that do the same work (k->unused), and takes the families out of
 * k->families for which there are none. */
void kern_choose_hooks(struct kern *k);
/* Programs can be put on the return of the function: tried. */
bool kern_can_fexit(const struct btf *btf, const char *function);
/* Programs on packets can be put at the root of cgroup v2: tried. 0 or -errno. */
int kern_try_packets(void);
/* What that error means. The text lives until the next call. */
const char *kern_no_packets(int err);
/* A link from the root of cgroup v2 to P_SKB_IN or P_SKB_OUT, loaded; or -errno. */
int kern_link_packets(enum kern_program p, int prog_fd);
/* Says in the control page how the network counters come about, or why not. */
void kern_say_network(struct kern *k);
/* What is said of families with a choice, NULL: nothing more than of others. */
const char *kern_hook_mode(const struct kern *k, enum family f);
const char *kern_no_hook(const struct kern *k, enum family f);
/* Id of an event "group/name" of tracefs, or -errno. */
int kern_event_id(const char *event);
/* A link from the event to a loaded program, or -errno. */
int kern_link_event(const char *event, int prog_fd);
int kern_pin_all(struct kern *k);
/* Makes pin_dir ours, if it is there. -EBUSY: another process that lives uses it. */
int kern_lock_pins(struct kern *k);
int kern_open_pins(struct kern *k, bool readonly);
int kern_attach_one(struct kern *k, enum kern_program p);
/* The process counts for the collector from its beginning. */
int kern_track_pid(struct kern *k, pid_t pid);
int kern_offsets(struct kern *k);
/* To be called when the programs have just been attached. */
void kern_note_missed(struct kern *k);
/* fd of a fresh pass over the tasks of the node: struct jp_task_rec records. Or -errno. */
int kern_iter(struct kern *k);
/* Programs that are called can find tasks by number: tried. */
bool kern_can_ask(const struct btf *btf);
uint64_t kern_boot_ns(void);

#endif
