/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a step back is found while it runs: when its file was written anew, a child judges it
 * as the step's user, which prints a line for each finding. A finding is told once: to slurmstepd,
 * which writes it to the step's standard error, and as a mark of the file. Only steps for which
 * that is wanted (LiveFindings) are judged, on their first node.
 */
#ifndef JP_DAEMON_FILES_LIVE_FINDINGS_H
#define JP_DAEMON_FILES_LIVE_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;
struct step;

/* The step's file was written while it runs: starts a child, unless one runs. */
void live_findings__judge(struct daemon *d, struct step *s, uint64_t now_ns);
/* Kills a child that hangs. */
void live_findings__watch(struct step *s, uint64_t now_ns);
/* A child has ended with that wait status. True if it judged a step. */
bool live_findings__reaped(struct daemon *d, pid_t pid, int status);

#endif
