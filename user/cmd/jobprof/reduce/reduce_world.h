/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that reduce together: the interface to a library of MPI, which the verb itself does
 * not need. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_WORLD_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/message.h"

struct reduce_world {
	unsigned rank, size;
	/* Begins to talk to the others: children are started before. 0 or -errno. */
	int (*join)(void);
	/* One message to parent or child in the tree, which need not be alive. */
	void (*send)(unsigned to, const void *bytes, size_t n);
	/* Tells parent and children that this process lives: to be called every second or so. */
	void (*beat)(void);
	/* What parent or child in the tree sent, in *m. false: it has not been heard of for too
	 * long. */
	bool (*receive)(unsigned from, struct message *m);
	/* The end; is_whole, in process 0: no process was lost. */
	void (*leave)(bool is_whole, int status);
};

/* One process. */
extern const struct reduce_world reduce_world__alone;

/* The size of the world that a launcher of MPI or srun started this process in, and the rank; 1
 * where none did. */
unsigned reduce_world__of_environment(unsigned *rank);
/* In a world of several, becomes the program that can talk to the others. 0: this is one process;
 * else the exit status: there is no such program, said. */
int reduce_world__elsewhere(char **argv);

#endif
