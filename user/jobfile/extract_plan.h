/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of the output, made from the columns of the tables. */
#ifndef JP_JOBFILE_EXTRACT_PLAN_H
#define JP_JOBFILE_EXTRACT_PLAN_H

#include <stdbool.h>

struct plan_names {
	char **v;
	unsigned n, room;
	bool begun; /* some table was added */
};

/* Adds a table's columns; common: only those all tables have stay. 0, -EMSGSIZE or -ENOMEM. */
int plan_names__add(struct plan_names *p, char *const *names, unsigned n, bool common);
/* Adds one name, as it is. 0, -EMSGSIZE or -ENOMEM. */
int plan_names__append(struct plan_names *p, const char *name);
/* Position of a name, looked for from *hint on, which is left behind it; -1: none. */
int plan_names__find(char *const *names, unsigned n, const char *name, unsigned *hint);
/* Only those that are wanted stay, in that order. A name is wanted as it is and, with totals, for
 * what stands behind its first "_". The first wanted one that is not there, or NULL; *err is 0 or
 * -ENOMEM. */
const char *plan_names__choose(struct plan_names *p, const char *const *wanted, unsigned n,
			       bool totals, int *err);
/* The one that was most likely meant, or NULL. */
const char *plan_names__nearest(const struct plan_names *p, const char *word);
void plan_names__free(struct plan_names *p);

#endif
