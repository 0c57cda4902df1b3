/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a job as the seff of Slurm's contribs (version 2.1) does: the same lines in the same
 * order, with the same words and forms of numbers. A line whose value is unknown is left out, where
 * that seff prints 0. Up to three lines follow: GPUs, waiting for a CPU, the dearest finding.
 */
#ifndef JP_VIEW_SITE_SEFF_H
#define JP_VIEW_SITE_SEFF_H

#include <stdio.h>

#include "index/row.h"

struct seff_job {
	const struct row *row;
	const char *group; /* of its user; "": unknown */
	bool is_running;
	bool is_live; /* the row of a running job has its values so far */
};

/* Format s as "1-02:03:04" or "00:00:12", as its time2str, and KiB as "1.50 GB", as its
 * kbytes2str. */
#define SEFF_TEXT 64
void seff__time(char to[static SEFF_TEXT], double s);
void seff__memory(char to[static SEFF_TEXT], double kib);

void seff__print(const struct seff_job *j, FILE *out);
/* Prints the lines of its -d, which come before those of seff__print(). */
void seff__print_raw(const struct seff_job *j, FILE *out);
/* Prints sums over the tasks of one array of one cluster, and its largest task. rows[n], n > 0. */
void seff__print_array(const struct row *rows, unsigned n, const char *group, FILE *out);

/* The state without what sacct appends ("CANCELLED by 1000"); "": unknown. */
const char *seff__state(const struct row *r, char to[static SEFF_TEXT]);

#endif
