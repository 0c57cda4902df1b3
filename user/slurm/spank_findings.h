/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What jobprofd finds of a step while the step runs, told to its user. SPANK calls a plugin only
 * when tasks begin and end, so a thread of slurmstepd waits for jobprofd's messages, over a
 * connection of its own. It begins when all tasks were forked, and ends before the step does. This
 * code does not depend on Slurm.
 */
#ifndef JP_SLURM_SPANK_FINDINGS_H
#define JP_SLURM_SPANK_FINDINGS_H

#include <pthread.h>
#include <stdbool.h>

#include "slurm/spank_link.h"

struct spank_findings {
	bool runs;
	pthread_t thread;
	int wake; /* an eventfd by which the thread ends */
	const char *path;
	struct jpc_step step;
	void (*tell)(const char *line);
	char told[JPC_FINDINGS_MAX][sizeof(((struct jpc_finding *)0)->rule)];
	unsigned ntold;
};

/* Begins, where jobprofd has said that it will have findings of the step. tell() is called in the
 * thread, with a line of printable characters, at most JPC_FINDINGS_MAX times. */
void spank_findings__begin(struct spank_findings *f, const struct spank_link *l,
			   void (*tell)(const char *line));
/* Waits until the thread has ended, which is at once unless tell() waits. */
void spank_findings__end(struct spank_findings *f);

#endif
