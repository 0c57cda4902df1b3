/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row that is stored in a job file with its report (jobfile/store.h), so that an index does not
 * judge the job again. The row is used while it fits: the file has not been written since, and the
 * same version, columns and rules would judge the job now. The file's owner may have written
 * anything into it, as into a whole profile, and scan.c checks both in the same way.
 */
#ifndef JP_INDEX_FILE_ROW_H
#define JP_INDEX_FILE_ROW_H

#include <time.h>

#include "findings/findings.h"
#include "index/row.h"

#define FILE_ROW_MAKER 64

/* Names what judges a job: the version of jobprof, its columns and rules, and the site's rules. */
void file_row__maker(const struct rules_text *site, char to[static FILE_ROW_MAKER]);

/* The row of a report, as file_row__text() takes it. NULL: no memory, or it is no report. */
json_t *file_row__json(const json_t *report);
/* The text that is stored in a file whose modification time will be that one; the caller frees it.
 * NULL: no memory. */
char *file_row__text(json_t *row, const char *maker, time_t written_s);

/* In a limited child: the row of the file of this modification time. 0; -ENOENT: it has none that
 * fits, which is not logged; -ENOMEM. row__free() in all cases. */
int file_row__read(struct row *r, const char *path, double mtime_s, const char *maker);

#endif
