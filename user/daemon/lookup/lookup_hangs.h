/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Targets that may hang a helper: a user's processes, their programs and libraries (these must not
 * keep task numbers from being read), Slurm's processes, the name service. A target that has
 * hung several helpers gets no questions for a while.
 */
#ifndef JP_DAEMON_LOOKUP_LOOKUP_HANGS_H
#define JP_DAEMON_LOOKUP_LOOKUP_HANGS_H

#include "base/log.h"
#include "daemon/lookup/lookup.h"

/* The most helpers that a target may hang, in a row or at once: a helper that waits for a file
 * system may not be killable before the file system answers. */
#define LOOKUP_HANGS_MAX   3
#define LOOKUP_BLOCKED_MAX 64

struct lookup_target {
	enum { TARGET_NONE, TARGET_USER, TARGET_PROGRAM, TARGET_STEPD, TARGET_NAMES } kind;
	uid_t uid;
};

struct lookup_hangs {
	struct lookup_blocked {
		struct lookup_target target;
		unsigned hangs; /* in a row */
		uint64_t until_ns;
	} blocked[LOOKUP_BLOCKED_MAX];
	unsigned nblocked;
	struct log_limit log;
};

struct lookup_target lookup_target__of(const struct lookup *q);
bool lookup_target__equal(const struct lookup_target *a, const struct lookup_target *b);

/* A helper that was reading the target was killed. Logs. */
void lookup_hangs__count(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns);
/* The target has answered: it is slow at times, and does not hang. */
void lookup_hangs__clear(struct lookup_hangs *h, const struct lookup_target *p);
/* The target gets no questions now. */
bool lookup_hangs__blocks(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns);

#endif
