/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room index: the jobs of a site, or of one user, in one database. A row is a job (row.h); rows
 * come from profiles (scan.h) and from Slurm's accounting (accounting.h), each of which may be read
 * again at any time. Sums per day and month are made after them; until then questions about these
 * days are answered from rows. Verbs and pages ask by a filter and for a viewer (query.h). The
 * database is SQLite's or PostgreSQL's (db.h).
 */
#ifndef JP_INDEX_INDEX_H
#define JP_INDEX_INDEX_H

#include "index/db.h"
#include "index/row.h"

#define INDEX_VERSION 2 /* of the schema */

struct index {
	struct db *db;
	bool has_dirty;	  /* this transaction writes rows whose sums are to be made again */
	uint64_t sums_ns; /* of the boot clock: until then commits leave sums to later ones */
	char *put[3];	  /* statements of index__put(), made when they are first needed */
};

/* Opens the index at `where` (db.h); for DB_WRITE its tables are made or brought forward. 0;
 * -EPROTONOSUPPORT: a later jobprof made it, or an earlier one and it is only to be read; -ENOENT,
 * which is not logged: there is none to read; else as db__open(). All others are logged. */
int index__open(struct index *ix, const char *where, enum db_mode mode);
void index__close(struct index *ix);

int index__begin(struct index *ix);
/* Ends the transaction; sums of what was written may be left to a later one. */
int index__commit(struct index *ix);
/* Makes the sums that are left, in a transaction of its own: the end of a feed. 0 or -errno. */
int index__settle(struct index *ix);
void index__rollback(struct index *ix);

/* Why a profile is left out (index__put()). */
#define INDEX_OTHERS "by Slurm's accounting its job is of another user"

/* Where a row comes from. */
struct index_source {
	unsigned source;     /* ROW_SOURCE_SLURM, ROW_SOURCE_PROFILE, or both */
	const char *file;    /* of a profile */
	const char *cluster; /* of rows without a cluster; NULL: "" */
	const char *user;    /* likewise: the owner of the file */
	double mtime_s;
	bool changed; /* that file was read before and has changed */
};

/*
 * Writes what a source says of a job: it becomes a row, or a part of the row that the other source
 * has made, or replaces what the same source wrote before. An id may have several runs, each with a
 * row. Where Slurm's accounting names the user of a run, another user's profile of it is left out,
 * -EPERM; a profile that came earlier is removed when the accounting comes. Called between
 * index__begin() and index__commit(). 0 or -errno.
 */
int index__put(struct index *ix, const struct row *r, const struct index_source *from);

#endif
