/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's host lists: "n[1-3,7],login1", "r[1-2]c[01-16]". */
#ifndef JP_BASE_HOSTLIST_H
#define JP_BASE_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string_list.h"

/* Parses a list into its names, in the order of strcmp, each once. A number keeps the width of its
 * range's first number. 0; -EINVAL: it is no host list, and the bad part is in bad[badlen]; -E2BIG:
 * more than 262,144 names; -ENOMEM. */
int hostlist__parse(struct string_list *out, const char *text, char *bad, size_t badlen);
/* The first host of the list as it is written: Slurm puts the node of a batch script first. What
 * follows that host is not checked. 0; -EINVAL: there is no host, or it does not fit. */
int hostlist__first(const char *text, char *name, size_t size);
bool hostlist__has(const struct string_list *l, const char *name);

#endif
