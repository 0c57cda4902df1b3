/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a file that could not be read: the first ones are named, the others counted. */
#ifndef JP_CMD_JOBPROF_READ_ERRORS_H
#define JP_CMD_JOBPROF_READ_ERRORS_H

#include <stdbool.h>

#define READ_ERRORS_NAMED 10u /* a job may have thousands of nodes */

struct read_errors {
	const char *path;
	const char *series; /* NULL: the names of tables have the series */
	unsigned lacking;   /* nodes and tables without the series or the column */
	unsigned damaged;   /* nodes and tables that cannot be read, wholly or in part */
	bool hold; /* those that lack the series are named by read_errors__end(), not at once */
	char *held[READ_ERRORS_NAMED];
	unsigned nheld;
};

/* For the callbacks of column_query and contents; ctx is a struct read_errors. err -ENODATA:
 * lacking. */
void read_errors__add(void *ctx, const char *step, const char *node, const char *table, int err);
/* Names those that lack the series, unless the whole file does, and logs how many were not named.
 */
void read_errors__end(struct read_errors *p, bool whole);

#endif
