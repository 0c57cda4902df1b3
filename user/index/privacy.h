/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the index keeps of people, in three ages: at first all; then names of users and jobs are
 * replaced by random ones, the same for all rows of a name; at last only sums remain, without
 * users. The table pseudonym knows which random name stands for whom, as long as somebody has rows
 * of both ages; without its row nobody can tell.
 */
#ifndef JP_INDEX_PRIVACY_H
#define JP_INDEX_PRIVACY_H

#include "index/index.h"

struct privacy_result {
	double renamed, deleted; /* jobs */
};

/* Jobs that began before `detail` lose their names, those before `pseudonymous` their rows; Unix
 * time. In one transaction. 0 or -errno. */
int privacy__prune(struct index *ix, double detail, double pseudonymous,
		   struct privacy_result *res);
/* All of a user's rows lose the name at once, and nobody can tell any more whose they were. */
int privacy__forget(struct index *ix, const char *user, struct privacy_result *res);

#endif
