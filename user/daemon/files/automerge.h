/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AutoMerge: merges the jobs whose first node this is when they have ended here, each by a "jobprof
 * merge --wait" that runs as the job's user. Each such job has a file in StateDir/merges, from its
 * first step on until the merge has ended, so that a later jobprofd goes on with it.
 */
#ifndef JP_DAEMON_FILES_AUTOMERGE_H
#define JP_DAEMON_FILES_AUTOMERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct automerge;
struct daemon;

/* Takes up the merges of earlier runs. With report, each merge stores the report in its file. 0;
 * -errno (logged): nothing is merged. */
int automerge__new(struct automerge **out, const char *state_dir, bool report);
/* Merges that run end with this process. NULL is fine. */
void automerge__free(struct automerge *a);
/* Notes the jobs of new steps, and starts merges of jobs that have ended. */
void automerge__advance(struct automerge *a, const struct daemon *d, uint64_t now_ns);
/* A child has ended with that wait status. True if it was a merge. */
bool automerge__reaped(struct automerge *a, pid_t pid, int status);
/* Whether some merge is due or runs. */
bool automerge__busy(const struct automerge *a);

#endif
