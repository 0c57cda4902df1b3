/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room index: the jobs of a site, or of one user, in one database. A row is a job (row.h). Rows
 * come from profiles (scan.h) and from Slurm's accounting (accounting.h), each of which may be read
 * again at any time. Sums per day and month are made later; until then questions about these days
 * are answered from rows. Verbs and pages ask with a filter and for a viewer (query.h). The
 * database is SQLite or PostgreSQL (db.h).
 */
#ifndef JP_INDEX_INDEX_H
#define JP_INDEX_INDEX_H

#include "index/db.h"
#include "index/row.h"

#define INDEX_VERSION 4 /* of the schema */

struct index {
	struct db *db;
	bool has_dirty;	  /* this transaction wrote rows whose sums must be made again */
	uint64_t sums_ns; /* boot clock: a commit before that makes no sums */
	char *put[3];	  /* statements of index__put(), made on first use */
};

/* Opens the index at `where` (db.h); with DB_WRITE its tables are made or upgraded. 0;
 * -EPROTONOSUPPORT: a later jobprof made it, or an earlier one and mode is DB_READ; -ENOENT, not
 * logged: there is none to read; else as db__open(). Other errors are logged. */
int index__open(struct index *ix, const char *where, enum db_mode mode);
void index__close(struct index *ix);

int index__begin(struct index *ix);
/* Commits; sums of the new rows may be left to a later call. */
int index__commit(struct index *ix);
/* Makes the sums that were left, in a transaction of its own, when a feed ends, and notes when that
 * was. 0 or -errno. */
int index__settle(struct index *ix);
/* When a feed ended last, Unix time, give or take half a minute; NaN: unknown. */
double index__fed_at(struct index *ix, int *err);
void index__rollback(struct index *ix);
/* Commits; after an error rolls back, and returns the error. */
int index__end(struct index *ix, int err);

/* Why index__put() refuses a profile. */
#define INDEX_OTHERS "by Slurm's accounting its job is of another user"

/* Where a row comes from. */
struct index_source {
	unsigned source;     /* ROW_SOURCE_SLURM, ROW_SOURCE_PROFILE, or both */
	const char *file;    /* path of the profile */
	const char *cluster; /* for rows that do not name theirs; NULL: "" */
	const char *user;    /* likewise: the owner of the file */
	double mtime_s;
	bool changed; /* the file was read before, and has changed */
};

/*
 * Stores what a source reports about a job: as a new row, in the row that the other source made, or
 * in place of what the same source reported before. One job id may have several runs, each with a
 * row. Where Slurm reports another user for a run, a profile of it is refused, -EPERM, and one that
 * came first is deleted when Slurm's report comes. Call it between index__begin() and
 * index__commit(). 0 or -errno.
 */
int index__put(struct index *ix, const struct row *r, const struct index_source *from);

#endif
