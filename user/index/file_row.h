/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row that a job file has beside its report (jobfile/store.h), so that who makes an index need
 * not judge the job again. It is used while it fits: the file has not been written since, and what
 * would judge the job now is what did then. Its owner may have written anything: then it is a row
 * of that owner's job, as a whole profile might be, and is judged as one (scan.c).
 */
#ifndef JP_INDEX_FILE_ROW_H
#define JP_INDEX_FILE_ROW_H

#include <time.h>

#include "findings/findings.h"
#include "index/row.h"

#define FILE_ROW_MAKER 64

/* What judges a job: the version of jobprof, its columns and rules, and the site's rules. */
void file_row__maker(const struct rules_text *site, char to[static FILE_ROW_MAKER]);

/* The row of a report, as file_row__text() takes it. NULL: no memory, or it is no report. */
json_t *file_row__json(const json_t *report);
/* The text that is stored in a file whose modification time will be that one; the caller frees it.
 * NULL: no memory. */
char *file_row__text(json_t *row, const char *maker, time_t written_s);

/* In a limited child: the row of the file of this modification time. 0; -ENOENT: it has none that
 * fits, and nothing has been said; -ENOMEM. row__free() in all cases. */
int file_row__read(struct row *r, const char *path, double mtime_s, const char *maker);

#endif
