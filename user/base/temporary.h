/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without its final name: a signal that ends this process removes the file. One at a time.
 */
#ifndef JP_BASE_TEMPORARY_H
#define JP_BASE_TEMPORARY_H

#include <signal.h>

/* No signal that ends this process comes until the one after unblock: a file is made, and watched,
 * in between. *before is the mask for unblock. */
void temporary__block(sigset_t *before);
void temporary__unblock(const sigset_t *before);

/* name, in the directory dir (AT_FDCWD: as open(2) takes it), stays the caller's and is valid until
 * it is forgotten. A child that is forked meanwhile leaves the file alone. */
void temporary__watch(int dir, const char *name);

/* The file has its final name, or is gone. Nothing where none is watched. */
void temporary__forget(void);

#endif
