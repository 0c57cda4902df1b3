/* SPDX-License-Identifier: GPL-2.0-only */
/* What a journal has, given to the job's user: neither the file, which a descriptor would keep on
 * the disk, nor its lock leaves jobprofd. */
#ifndef JP_DAEMON_CHILD_JOURNAL_COPY_H
#define JP_DAEMON_CHILD_JOURNAL_COPY_H

#include "daemon/child/child.h"

/* Starts a child that writes the journal to a pipe and ends within 10 s, read or not. Returns the
 * end to read from, or -errno. */
int journal_copy__start(const char *journal, const struct child_user *u);

#endif
