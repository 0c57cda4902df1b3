/* SPDX-License-Identifier: GPL-2.0-only */
/* The name of an open journal in its directory: another program may take it away. */
#ifndef JP_JOURNAL_JOURNAL_FILE_H
#define JP_JOURNAL_JOURNAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether PATH names the file that is open as fd. */
bool journal_file__is_at(int fd, const char *path);
/* Copies the first size bytes of fd to a new file, which is locked and gets the name PATH, whatever
 * had it. Its descriptor, or -errno: PATH is as it was. */
int journal_file__put_back(int fd, const char *path, uint64_t size);

#endif
