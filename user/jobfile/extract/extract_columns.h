/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of column names: those of all tables become those of the output. */
#ifndef JP_JOBFILE_EXTRACT_COLUMNS_H
#define JP_JOBFILE_EXTRACT_COLUMNS_H

#include <stdbool.h>

#include "base/string_list.h"

/* Removes all names that are not among names[n]. */
void column_names__keep_common(struct string_list *c, char *const *names, unsigned n);
/* Position of a name in names, looked for from *hint on, which is left behind it; -1: none. */
int column_names__find(char *const *names, unsigned n, const char *name, unsigned *hint);
/* Whether a user who asks for column `wanted`, in any case, may mean `name`: with totals also "RSS"
 * for "Max_RSS". */
bool column_names__is_meant(const char *name, const char *wanted, bool totals);
/* Removes all names that are not wanted, and sorts the rest as wanted[n]. Returns the first wanted
 * name that is not there, or NULL; *err is 0 or -ENOMEM. */
const char *column_names__choose(struct string_list *c, const char *const *wanted, unsigned n,
				 bool totals, int *err);
/* The one that was most likely meant, or NULL. */
const char *column_names__nearest(const struct string_list *c, const char *word);

#endif
