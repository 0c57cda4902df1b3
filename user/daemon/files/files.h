/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How journals become files: how many writers run at once, and in which order. And how much of
 * StateDir's disk journals may take: JournalUserMax, JournalMax, JournalMinFree. Above these limits
 * the oldest journals whose files could not be written again and again are removed, first those of
 * the user with the most; where that is not enough, steps write only one row a minute.
 */
#ifndef JP_DAEMON_FILES_FILES_H
#define JP_DAEMON_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;
struct publication;
struct step;

/* Starts the writer for a step that still runs, if PublishInterval has passed. */
void daemon_publish_live(struct daemon *d, struct step *s, uint64_t now);
/* Starts the writer of the final file as soon as there is room, and kills a writer that hangs. */
void daemon_finish_file(struct daemon *d, struct publication *p, uint64_t now);
/* A child has ended with that wait status. True if it was a writer; its step is DONE when the final
 * file is in place. */
bool daemon_writer_reaped(struct daemon *d, pid_t pid, int status, uint64_t now);

/* Every few seconds checks the journals' limits, removes journals and reduces rows. */
void daemon_limit_journals(struct daemon *d, uint64_t now_ns);

#endif
