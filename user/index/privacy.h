/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the index stores of people, in three ages of a row. First it has all names; then the names
 * of users and jobs are replaced by random ones, the same for all rows of a name; at last only sums
 * remain, without users. The table pseudonym has, under a keyed word of the name, the random name
 * that replaces it, as long as a user has rows of both ages; when its row is gone, nobody can find
 * the name again.
 */
#ifndef JP_INDEX_PRIVACY_H
#define JP_INDEX_PRIVACY_H

#include "base/string_list.h"
#include "index/index.h"
#include "index/pseudonym.h"

struct privacy_result {
	double renamed, deleted; /* jobs */
};

/* Jobs that began before `detail` lose their names, those before `pseudonymous` their rows; Unix
 * time. In one transaction. 0 or -errno. */
int privacy__prune(struct index *ix, double detail, double pseudonymous,
		   struct privacy_result *res);
/* All of a user's rows lose the name at once, and nobody can find out any more whose they were. */
int privacy__forget(struct index *ix, const char *user, struct privacy_result *res);

/*
 * What the feeds may still have and the index must not store again: rows, or names, of jobs that
 * began before the times of the last privacy__prune(); names in earlier jobs of users who were
 * forgotten. The index has a word for each of these users, made with a random key that it stores:
 * it has no names, but a reader of the index can test whether a given name is among them.
 */
struct privacy_past {
	double rows_before, names_before; /* Unix time; NaN: never */
	struct pseudonyms key;
	struct privacy_forgotten {
		char word[PSEUDONYM_SIZE];
		double before;
	} * forgotten;
	unsigned n;
	struct string_list old, hidden; /* users to be renamed: for age; forgotten ones */
	int err;			/* why these are not all */
};

/* Jobs that a feed had. */
struct privacy_left {
	unsigned long gone, nameless; /* that have no row; that have lost their names */
	double rows_before;
};

/* Called once in a transaction. 0 or -errno. privacy_past__free() in both cases. */
int privacy_past__load(struct privacy_past *p, struct index *ix);
/* Whether a job must have no row. *left counts such a job, and one that will lose its names. */
bool privacy_past__has(struct privacy_past *p, const char *user, double start,
		       struct privacy_left *left);
/* Before the end of the transaction: takes the names from what was written. 0 or -errno. */
int privacy_past__rename(const struct privacy_past *p, struct index *ix);
void privacy_past__free(struct privacy_past *p);

#endif
