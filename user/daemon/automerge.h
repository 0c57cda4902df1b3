/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AutoMerge: jobs whose first node this is are merged when they have ended here, each by a
 * "jobprof merge --wait" of its user's. What is to be merged is also in StateDir/merges, a file per
 * job, from when that is known to the end of the merge: a jobprofd that comes later goes on.
 */
#ifndef JP_DAEMON_AUTOMERGE_H
#define JP_DAEMON_AUTOMERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct automerge;
struct daemon;

/* Takes up what earlier runs have left. 0; -errno (logged): nothing is merged. */
int automerge__new(struct automerge **out, const char *state_dir);
/* Merges that run end with this process. NULL is fine. */
void automerge__free(struct automerge *a);
/* Notes the jobs of new steps, and starts merges of jobs that have ended. */
void automerge__advance(struct automerge *a, const struct daemon *d, uint64_t now_ns);
/* A child has ended with that wait status. True if it was a merge. */
bool automerge__reaped(struct automerge *a, pid_t pid, int status);
/* There is something to look after. */
bool automerge__busy(const struct automerge *a);

#endif
