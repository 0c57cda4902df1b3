/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the guard share. */
#ifndef JP_POOL_GUARD_INTERNAL_H
#define JP_POOL_GUARD_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "pool/guard.h"

/* What is read now. A child's is shared with its parent. */
struct guard_note {
	char file[1024], object[512];	/* the object with ": " behind it */
	unsigned seconds;		/* 0: there is no limit */
	unsigned more;			/* for this file */
	bool adopts;			/* the parent waits for what the child leaves behind: */
	pid_t beside[GUARD_BESIDE_MAX]; /* 0: nobody */
};

/* This process's. */
struct guard_note *guard__note(void);
/* From now on it is n, which begins as a copy, and the clock starts again. */
void guard__write_to(struct guard_note *n);
/* Waits for those the child has left behind. */
void guard__reap(const struct guard_note *n);
/* One line: how the process ended whose note it is, as guard__death has it. */
void guard__say(int err, int sig, struct guard_note *n);

#endif
