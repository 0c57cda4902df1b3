/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state behind struct kern, for the files of user/kern alone. Functions of this folder that
 * others do not call begin with kern_, those of kern.h with kern__. Their headers by subject:
 * tables.h, probe.h, load.h, link.h, slots.h, pmu.h.
 */
#ifndef JP_KERN_INTERNAL_H
#define JP_KERN_INTERNAL_H

#include "kern/kern.h"
#include "kern/pmu.h"
#include "kern/tables.h"

struct btf;

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

/* Keeps the line for kern__error() and returns err. */
int kern_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Closes it if it is open, and makes it -1. */
void kern_close_fd(int *fd);

#endif
