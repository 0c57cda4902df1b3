/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of a slurmstepd to jobprofd. Whatever the state of jobprofd, nothing here fails a
 * step, and all waiting together is bounded. The code needs no part of Slurm.
 */
#ifndef JP_SLURM_SPANK_LINK_H
#define JP_SLURM_SPANK_LINK_H

#include <stdbool.h>

#include "client/client.h"

struct spank_link {
	struct client client;
	const char *path;
	struct jpc_step step; /* sent again over every new connection */
	char conf[256];	      /* path of slurm.conf, sent with the step; "": not known */
	unsigned left_us;     /* how long answers may still be waited for */
	unsigned timeout_ms;
	bool answered; /* jobprofd has answered in time */
	bool logged;   /* log was called: once in a step's life */
	/* One line without a newline; serious: the user has asked for a profile. */
	void (*log)(const char *line, bool serious);
};

/* Connects and sends STEP, which l->step holds but for its head. Waits timeout_ms at most for the
 * answer. path must live as long as l. */
void spank_link__begin(struct spank_link *l, const char *path, unsigned timeout_ms);
/* Does not wait. A message that cannot be sent is lost: jobprofd finds tasks by itself, too. */
void spank_link__task(struct spank_link *l, enum jpc_type type, const struct jpc_task *task);
/* Sends STEP_END, waits for the answer only if there was one to STEP, and closes. */
void spank_link__end(struct spank_link *l);

#endif
