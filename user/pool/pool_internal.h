/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the pool share. */
#ifndef JP_POOL_POOL_INTERNAL_H
#define JP_POOL_POOL_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "pool/pool.h"

/* What is read now. A child's is shared with its parent. */
struct pool_note {
	char file[1024], object[512];  /* the object with ": " behind it */
	unsigned seconds;	       /* 0: there is no limit */
	unsigned more;		       /* for this file */
	bool adopts;		       /* the parent waits for what the child leaves behind: */
	pid_t beside[POOL_BESIDE_MAX]; /* 0: nobody */
};

/* This process's. */
struct pool_note *pool__note(void);
/* From now on it is n, which begins as a copy, and the clock starts again. */
void pool__write_to(struct pool_note *n);
/* Waits for those the child has left behind. */
void pool__reap(const struct pool_note *n);
/* One line: how the process ended whose note it is, as pool__signal_error has it. */
void pool__say(int err, int sig, struct pool_note *n);

#endif
