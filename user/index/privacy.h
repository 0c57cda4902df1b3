/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the index stores about people, in three ages. At first it has all. Then names of users and
 * jobs are replaced by random ones, the same in all rows of a user. At last it has sums only,
 * without users. The table pseudonym maps a word for the name to the random name, as long as the
 * user has rows of both ages; without its entry nobody can tell whose rows they were.
 */
#ifndef JP_INDEX_PRIVACY_H
#define JP_INDEX_PRIVACY_H

#include "base/string_list.h"
#include "index/index.h"
#include "index/pseudonym.h"

struct privacy_result {
	double renamed, deleted; /* jobs */
};

/* Deletes the names of jobs that began before `detail`, and the rows of jobs whose whole month was
 * before `pseudonymous` (Unix time; NaN: none), in one transaction. 0 or -errno. */
int privacy__prune(struct index *ix, double detail, double pseudonymous,
		   struct privacy_result *res);
/* Deletes the name in all rows of a user at once; nobody can tell any more whose they were. */
int privacy__forget(struct index *ix, const char *user, struct privacy_result *res);

/*
 * What feeds must leave out, though their sources may still have it: rows, or names, of jobs that
 * began before the times of the last privacy__prune(); of users who were forgotten the names of
 * earlier jobs. The index knows these users by words under a random key of its own. A word does not
 * reveal a name, but who has the key can test whether a name is among them.
 */
struct privacy_past {
	double rows_before, names_before; /* Unix time; NaN: never */
	struct pseudonyms key;
	struct privacy_forgotten {
		char word[PSEUDONYM_SIZE];
		double before;
	} * forgotten;
	unsigned n;
	struct string_list old, hidden; /* users to rename, for age and as forgotten */
	int err;			/* why the lists are incomplete */
};

/* Jobs of a feed that are left out, or lose their names. */
struct privacy_left {
	unsigned long gone, nameless; /* jobs without a row; jobs that lose their names */
	double rows_before;
};

/* Loads it, in a transaction. 0 or -errno. privacy_past__free() in both cases. */
int privacy_past__load(struct privacy_past *p, struct index *ix);
/* Whether a job must have no row. Counts it in *left, also if it will lose its names only. */
bool privacy_past__has(struct privacy_past *p, const char *user, double start,
		       struct privacy_left *left);
/* Deletes the names in what the transaction wrote, before its end. 0 or -errno. */
int privacy_past__rename(const struct privacy_past *p, struct index *ix);
void privacy_past__free(struct privacy_past *p);

#endif
