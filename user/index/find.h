/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a word is: a job, user, project, node or job name of the index that its reader may see. */
#ifndef JP_INDEX_FIND_H
#define JP_INDEX_FIND_H

#include "index/query.h"

#define FIND_BYTES 512 /* of a word: no name is longer */
#define FIND_BEGIN 8   /* names of each kind that begin with the word */

struct found {
	const char *what; /* "job", "running", "user", "project", "node", "name" */
	const char *name; /* valid during the call */
	bool has_profile; /* of a job, which is not an array */
};

/* Calls take with what the word is; nothing is of that name: with the first names of each kind that
 * begin with it. 0; -E2BIG: the word is longer than FIND_BYTES; -errno, or what take returned. */
typedef int find_take(void *arg, const struct found *f);
int find__each(struct index *ix, const char *word, const struct viewer *v, find_take *take,
	       void *arg);

#endif
