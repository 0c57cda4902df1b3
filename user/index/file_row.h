/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row of a job, stored in its job file next to the report (jobfile/store.h), so that an index
 * is made without judging the job again. It is used if the file has not been written since, and
 * what would judge the job now made it and could have made its findings. The owner of the file may
 * have written anything; so the row is checked like a profile (scan.c).
 */
#ifndef JP_INDEX_FILE_ROW_H
#define JP_INDEX_FILE_ROW_H

#include <time.h>

#include "findings/findings.h"
#include "index/row.h"

#define FILE_ROW_MAKER 64

/* Writes what judges a job: the version of jobprof, its columns and rules, and the site's rules. */
void file_row__maker(const struct rules_text *site, char to[static FILE_ROW_MAKER]);

/* Makes the row of a report on that job, for file_row__text(). NULL: no memory, or it is not a
 * report. */
json_t *file_row__json(const json_t *report, const struct model_job *j);
/* Makes the text to store in a file that will have this modification time; the caller frees it.
 * NULL: no memory. */
char *file_row__text(json_t *row, const char *maker, time_t written_s);

/* What would judge a job now. */
struct file_row_judge {
	const struct rules_text *site;
	char maker[FILE_ROW_MAKER];
	struct file_row_rule *rules;
	unsigned nrules;
};

/* site: may be asked until the end, which is file_row_judge__free() in all cases. 0 or -errno. */
int file_row_judge__init(struct file_row_judge *j, const struct rules_text *site);
void file_row_judge__free(struct file_row_judge *j);

/* Whether rules can have found what the row has: its findings are copied and counted as what rules
 * say. */
bool file_row_judge__can_find(const struct file_row_judge *j, const struct row *r);

/* Reads the row of a file of this modification time, in a limited child. 0; -ENOENT: the file has
 * no row that can be used, not logged; -ENOMEM. row__free() in all cases. */
int file_row__read(struct row *r, const char *path, double mtime_s, const struct file_row_judge *j);

#endif
