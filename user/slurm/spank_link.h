/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of a slurmstepd to jobprofd. Whatever the state of jobprofd, nothing here makes a
 * step fail, and the total of all waits is bounded. This code does not depend on Slurm.
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
	bool findings; /* jobprofd will have findings of the step */
	bool logged;   /* log was called: once in a step's life */
	/* Logs one line, which has no newline; serious: the user has asked for a profile. */
	void (*log)(const char *line, bool serious);
};

/* Connects and sends STEP, which is l->step but for its head. Waits at most timeout_ms for the
 * answer. path must live as long as l. */
void spank_link__begin(struct spank_link *l, const char *path, unsigned timeout_ms);
/* Sends a message about a task, and does not wait. A message that cannot be sent is lost, but
 * jobprofd also finds tasks by itself. */
void spank_link__task(struct spank_link *l, enum jpc_type type, const struct jpc_task *task);
/* Sends STEP_END, waits for the answer only if there was one to STEP, and closes. */
void spank_link__end(struct spank_link *l);

#endif
