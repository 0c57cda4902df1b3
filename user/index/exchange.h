/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as text, for another index or another program: one line of JSON per job, with the columns of
 * schemas/index.def by name, `finding_list` (findings as in docs/report-json.md), `node_names`,
 * `file_systems` (as io.mount.each there) and `node_rows` (node_row.h). What is unknown is absent.
 * CSV, for spreadsheets, has the columns only.
 */
#ifndef JP_INDEX_EXCHANGE_H
#define JP_INDEX_EXCHANGE_H

#include <stdio.h>

#include "index/privacy.h"
#include "index/query.h"

struct exchange_result {
	unsigned long rows, refused;
	struct privacy_left left;
};

/* Reads lines that anybody may have written, and stores their rows as those of the sources that
 * they name. A line that is not a row, or claims a job of another user, is refused, with the reason
 * in the log. name: of the file, for messages; cluster: for rows that do not name theirs, may be
 * NULL. 0 or -errno, logged. */
int exchange__read(struct index *ix, FILE *in, const char *name, const char *cluster,
		   struct exchange_result *res);

struct exchange_form {
	bool csv;
	bool anonymize; /* names become pseudonyms of this call; texts and paths are left out */
};
/* Writes the rows that the filter selects and the viewer may see. 0 or -errno, logged. */
int exchange__write(struct index *ix, FILE *out, const struct job_filter *f, const struct viewer *v,
		    const struct exchange_form *form);

#endif
