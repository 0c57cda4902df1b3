/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the daemon follows the kernel side: it attaches the programs while a step needs them,
 * searches for cgroups that these have not seen, and takes their events. */
#ifndef JP_DAEMON_FOLLOW_KERNEL_WATCH_H
#define JP_DAEMON_FOLLOW_KERNEL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"

struct kern;
struct step_env;

#define ENDED_MAX 64

#define KERNEL_LOSSES  2
#define KERNEL_LOSS_NS (3600 * NSEC_PER_SEC) /* how long the status names a loss */

/* Something that the kernel side could not count: see kernel_loss__text(). */
struct kernel_loss {
	uint64_t seen;
	uint64_t since_ns, last_ns; /* 0: none since the start of this daemon */
	struct log_limit log;
};

/* What the daemon knows of the kernel side. */
struct kernel_watch {
	struct step_env *env;
	bool wake;		   /* a step begins: the programs are needed */
	bool sync;		   /* the list of steps may lack some */
	bool sweep;		   /* tasks that do not switch must be counted by a sweep */
	uint32_t ended[ENDED_MAX]; /* slots of the steps of which a task has ended in this turn */
	unsigned nended;	   /* above ENDED_MAX: any step may be among them */
	uint64_t rb_lost_seen, exhausted_seen, next_exhausted_ns;
	uint64_t exhausted_placed, freed_seen, next_late_ns; /* of cgroups that found no slot */
	uint64_t unplaced_ns; /* since when there are such cgroups; 0: there are none */
	struct kernel_loss losses[KERNEL_LOSSES];
	uint64_t next_rescan_ns;
	uint64_t idle_since_ns; /* 0: there are steps */
};

/* Attaches the programs unless they are. 0; -errno: logged. */
int kernel_watch__attach(struct kern *k);
/* Walks over all cgroups when that is due, or when some cgroups found no slot and slots have become
 * free since. */
void kernel_watch__rescan_due(struct kernel_watch *w, uint64_t now);
/* Logs what the kernel side could not count, whenever there is more of it. */
void kernel_watch__log_losses(struct kernel_watch *w, uint64_t now);
/* Text of the kind of loss, for n of it: what is not counted, and what to do. */
const char *kernel_loss__text(unsigned kind, uint64_t n);
/* Stops the clocks of samples when no step is profiled, and detaches the programs when there has
 * been no step for a while. */
void kernel_watch__detach_idle(struct kernel_watch *w, uint64_t now);
/* Takes what the kernel side has reported since the last turn: steps that begin, tasks that end.
 * Attaches the programs when a step begins. */
void kernel_watch__take_events(struct kernel_watch *w, uint64_t now);
/* Called when the list of steps agrees with these events: notes the values of tasks that have
 * ended, and takes the executions of probed regions. */
void kernel_watch__end_turn(struct kernel_watch *w, uint64_t now);

#endif
