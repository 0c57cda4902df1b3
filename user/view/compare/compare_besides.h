/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a comparison that are no facts: functions, clusters and folded regions of both jobs.
 */
#ifndef JP_VIEW_COMPARE_BESIDES_H
#define JP_VIEW_COMPARE_BESIDES_H

#include "jobfile/profiles.h"
#include "pool/message.h"
#include "view/compare/compare_tables.h"

#define COMPARE_BESIDES	     3
#define COMPARE_BESIDES_ROWS 10 /* of a table */

struct compare_besides {
	struct compare_table tables[COMPARE_BESIDES];
	unsigned n;
	char *names[COMPARE_BESIDES][COMPARE_BESIDES_ROWS];
};

/* A run's files, and its CPU time. */
struct compare_inside {
	const struct job_input *files;
	unsigned n;
	double cpu_s;
};

/* Makes the tables of what both runs have, each in a child with limits: none, where a run is in
 * several files. 0 or -errno: of the first that cannot be read, and *what names it; the others are
 * there. compare_besides__free() in all cases. */
int compare_besides__of(struct compare_besides *out, const struct compare_inside runs[2],
			const char **what);
void compare_besides__free(struct compare_besides *b);

/* ---- in the child: each puts its rows, and returns 0 or -errno; -ENODATA: a run has none of it */

/* name is copied; share and s as struct compare_row has them, of both runs. */
void compare_rows__put(struct message *m, const char *name, const double share[2],
		       const double s[2]);
/* In the parent: takes them, until there is no more or no memory; names[] are to be freed. */
void compare_rows__take(struct compare_table *t, char **names, struct message *m);

#endif
