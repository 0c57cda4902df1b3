/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_KERN_INTERNAL_H
#define JP_KERN_INTERNAL_H

#include <stddef.h>

#include "kern/kern.h"

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
	M_N
};

enum kern_program {
	P_MKDIR,
	P_RMDIR,
	P_ATTACH,
	P_FORK,
	P_EXEC,
	P_EXIT,
	P_SWITCH,
	P_ITER,
	P_SWEEP,
	P_PERCPU,
	P_N
};

extern const char *const kern_map_names[M_N];
extern const char *const kern_program_names[P_N];

struct kern {
	struct kern_opts opts;
	struct jp_node nodes[JP_NODES];
	char pin_dir[256];
	bool adopted, readonly;
	int lock;	 /* of pin_dir: its maps have one owner */
	bool rss_percpu; /* the kernel keeps RSS in per-CPU counters (6.2) */
	int map[M_N];
	int prog[P_N];
	int link[P_N];
	struct jp_control *control;
	struct jp_slot *slots;
	struct jp_sched *sched;
	struct jp_lat *lat;
	struct jp_acct *acct;
	unsigned nslots, ncpus;
	bool *released;	    /* by slot: the daemon is done with it */
	uint64_t *quiet_ns; /* by slot: since when nothing holds it */
	struct ring_buffer *ring;
	void (*event_fn)(const struct jp_event *ev, void *ctx);
	void *event_ctx;
};

int kern_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kern_close_fd(int *fd);
int kern_mmap(struct kern *k);
int kern_pin_all(struct kern *k);
/* Makes pin_dir ours, if it is there. -EBUSY: another process that lives uses it. */
int kern_lock_pins(struct kern *k);
int kern_open_pins(struct kern *k, bool readonly);
int kern_attach_one(struct kern *k, enum kern_program p);
int kern_offsets(struct kern *k);
int kern_ssid(const char *controller, const char *btf);
uint64_t kern_boot_ns(void);

#endif
