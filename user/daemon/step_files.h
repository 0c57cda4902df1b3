/* SPDX-License-Identifier: GPL-2.0-only */
/* When a journal becomes a file: writers, how many at once and in which order. */
#ifndef JP_DAEMON_STEP_FILES_H
#define JP_DAEMON_STEP_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;
struct publication;
struct step;

/* The file of a step that still runs, if it is time. */
void daemon_publish_live(struct daemon *d, struct step *s, uint64_t now);
/* The final file: starts its writer as soon as there is room, and kills one that hangs. */
void daemon_finish_file(struct daemon *d, struct publication *p, uint64_t now);
/* A child has ended with that wait status. True if it was a writer; its step is DONE when the final
 * file is in place. */
bool daemon_writer_reaped(struct daemon *d, pid_t pid, int status, uint64_t now);

#endif
