/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of users' series and columns, as applications and "jobprof emit" write them. */
#ifndef JP_CLIENT_COLUMN_H
#define JP_CLIENT_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

#include "client/protocol.h"

/* Whether a name consists of letters, digits and "_", 1 to max of them. */
bool column__name_ok(const char *name, size_t max);
/* Parses the first len bytes of text, NAME or NAME[UNIT], with "+" after it for a change since the
 * row before, as a column of doubles. 0 or -EINVAL. */
int column__parse(struct jpc_column *c, const char *text, size_t len);
/* Copies the name of a mark: 1 to 63 bytes without control characters. 0 or -EINVAL. */
int column__mark_name(char to[static sizeof(((struct jpc_mark *)0)->name)], const char *name);

#endif
