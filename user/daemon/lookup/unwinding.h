/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The helper that follows copied stacks (unwind/unwind.h): the helper reads the kernel's ring
 * itself, so that slow work costs the daemon no time. It has hardly any rights (pool__confine()):
 * its parent, another process, opens users' files for it. While the helper hangs or is missing the
 * ring fills up, and samples are followed by frame pointers; a helper that has ended or does not
 * answer is replaced. */
#ifndef JP_DAEMON_LOOKUP_UNWINDING_H
#define JP_DAEMON_LOOKUP_UNWINDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/jobprof.h"

struct unwinding;

/* Starts the helper of a ring, whose descriptor must stay open. 0 or -errno. */
int unwinding__start(struct unwinding **out, int ring_fd);
void unwinding__stop(struct unwinding *u); /* NULL is fine */
/* A descriptor that is readable when stacks have come; -1: none will come. */
int unwinding__fd(const struct unwinding *u);
/* Calls fn with the stacks that have come, some hundreds at most. */
void unwinding__take(struct unwinding *u,
		     void (*fn)(void *ctx, const struct jp_stack_key *key,
				const struct jp_stack *s),
		     void *ctx);
/* Waits until the helper has sent what was in the ring, at most 100 ms; called when a step ends. */
void unwinding__settle(struct unwinding *u,
		       void (*fn)(void *ctx, const struct jp_stack_key *key,
				  const struct jp_stack *s),
		       void *ctx);
/* Called at every turn: starts the helper where there is none, and ends one that does not answer.
 */
void unwinding__watch(struct unwinding *u, uint64_t now_ns);
/* A child has ended. True if it was the helper's parent, which ends with the helper. */
bool unwinding__reaped(struct unwinding *u, pid_t pid, uint64_t now_ns);

#endif
