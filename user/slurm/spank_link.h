/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a slurmstepd tells jobprofd, whatever the state of the latter: nothing here fails a step,
 * and all waiting together is bounded. Needs nothing of Slurm.
 */
#ifndef JP_SLURM_SPANK_LINK_H
#define JP_SLURM_SPANK_LINK_H

#include <stdbool.h>

#include "client/client.h"

struct spank_link {
	struct client client;
	const char *path;
	struct jpc_step step; /* said again on every new connection */
	char conf[256];	      /* Slurm's slurm.conf, said with it; "": not known */
	unsigned left_us;     /* what may still be waited */
	unsigned timeout_ms;
	bool answered; /* jobprofd is there and not slow */
	bool said;     /* log was called: once in a step's life */
	/* One line without its end; serious: the user has asked for a profile. */
	void (*log)(const char *line, bool serious);
};

/* Connects and says STEP, which l->step holds but for its head. Waits timeout_ms at most for the
 * answer. path must live as long as l. */
void spank_link__begin(struct spank_link *l, const char *path, unsigned timeout_ms);
/* Never wait. What cannot be sent is lost: jobprofd finds tasks by itself, too. */
void spank_link__task(struct spank_link *l, enum jpc_type type, const struct jpc_task *task);
/* Waits for the answer only if there was one to STEP. Closes. */
void spank_link__end(struct spank_link *l);

#endif
