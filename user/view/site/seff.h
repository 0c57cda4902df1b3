/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job as the seff of Slurm's contribs (version 2.1) prints it: the same lines in the same order,
 * with the same words and forms of numbers. A line whose value is not known is left out, where
 * that seff prints 0. At most three lines more: GPUs, waiting for a CPU, the dearest finding.
 */
#ifndef JP_VIEW_SITE_SEFF_H
#define JP_VIEW_SITE_SEFF_H

#include <stdio.h>

#include "index/row.h"

struct seff_job {
	const struct row *row;
	const char *group; /* of its user; "": not known */
	bool is_running;
	bool is_live; /* the row of a running job has what the job used so far */
};

/* "1-02:03:04", "00:00:12": its time2str; "1.50 GB": its kbytes2str. */
#define SEFF_TEXT 64
void seff__time(char to[static SEFF_TEXT], double s);
void seff__memory(char to[static SEFF_TEXT], double kib);

void seff__print(const struct seff_job *j, FILE *out);
/* The lines of its -d, before those. */
void seff__print_raw(const struct seff_job *j, FILE *out);
/* Tasks of one array, of one cluster: sums, and the largest task. rows[n], n > 0. */
void seff__print_array(const struct row *rows, unsigned n, const char *group, FILE *out);

/* The state's first word, as sacct may add more ("CANCELLED by 1000"); "": not known. */
const char *seff__state(const struct row *r, char to[static SEFF_TEXT]);

#endif
