/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the programs of one installation, or of one build, find each other. */
#ifndef JP_BASE_PROGRAM_H
#define JP_BASE_PROGRAM_H

#include <stddef.h>

/* The path of one that is installed with this: beside it, or else in a directory relative to its
 * own, there or not. */
void program__find(const char *name, const char *elsewhere, char *buf, size_t len);

/* The user whom this process runs as can neither trace it nor read its memory. A file that this
 * user may not read has that from exec on, unless root has set fs.suid_dumpable to 1. */
void program__close_to_user(void);

#endif
