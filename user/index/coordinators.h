/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's coordinators: users who may see the jobs of an account and of those below it. The table
 * coordinator has them as sacctmgr lists them; query.c asks it. An entry counts for a day, so that
 * nobody has the right for ever where sacctmgr no longer answers.
 */
#ifndef JP_INDEX_COORDINATORS_H
#define JP_INDEX_COORDINATORS_H

#include "base/string_list.h"
#include "index/accounting.h"

#define COORDINATORS_LAST_S 86400.0

/* Asks sacctmgr, unless it has answered within the last hour. Where there is no sacctmgr beside
 * sacct, nobody coordinates. With clusters in the options, only jobs of these are seen; else of all
 * of the index. 0 or -errno, logged; what was known stays. */
int coordinators__sync(struct index *ix, const struct accounting_options *o);

/* Whether the user coordinates any account. *err: 0 or -errno, logged. */
bool coordinators__has(struct index *ix, const char *user, int *err);
/* Appends the user's accounts, at most `most`. 0 or -errno, logged. */
int coordinators__accounts(struct index *ix, const char *user, unsigned most,
			   struct string_list *accounts);

#endif
