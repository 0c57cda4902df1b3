/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows on their way from one index to another, or out of it: a line of JSON per job, with the
 * columns of schemas/index.def by name, `finding_list` (findings as in docs/report-json.md),
 * `node_names` and `file_systems` (as its io.mount.each); what is not known is absent. CSV has the
 * columns alone, for spreadsheets.
 */
#ifndef JP_INDEX_EXCHANGE_H
#define JP_INDEX_EXCHANGE_H

#include <stdio.h>

#include "index/query.h"

struct exchange_result {
	unsigned long rows, refused;
};

/* Reads lines that anybody may have written, and writes their rows: each as its sources say. A line
 * that is no row is refused, with the reason in the log. name: of the file, for messages; cluster:
 * of rows that do not say theirs, may be NULL. 0 or -errno, logged. */
int exchange__read(struct index *ix, FILE *in, const char *name, const char *cluster,
		   struct exchange_result *res);

struct exchange_form {
	bool csv;
	bool anonymize; /* names become pseudonyms of this one call, texts and places are left out
			 */
};
/* Writes the rows of the filter that the viewer may see. 0 or -errno, logged. */
int exchange__write(struct index *ix, FILE *out, const struct job_filter *f, const struct viewer *v,
		    const struct exchange_form *form);

#endif
