/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's accounting becomes rows, by sacct: jobs that have ended and had begun, with a profile or
 * without. What was read before may be read again at any time.
 */
#ifndef JP_INDEX_ACCOUNTING_H
#define JP_INDEX_ACCOUNTING_H

#include "index/index.h"
#include "index/privacy.h"

struct accounting_options {
	const char *sacct;    /* its path; NULL: by PATH. Other commands are where it is */
	const char *clusters; /* a list with commas; NULL: all that slurmdbd knows */
	double since;	      /* NaN: from what was read last less an hour, at first 30 days ago */
	double wait_s;	      /* for one answer; 0: ten minutes */
};

struct accounting_result {
	unsigned long jobs;	 /* rows, of which some may have been there */
	unsigned long senseless; /* lines that are no row; the first has been logged */
	unsigned long calls;
	struct privacy_left left; /* none of these jobs */
};

/* Reads what has ended since. 0 or -errno, and it has said why; what was read up to there is
 * kept, and a later call begins there. */
int accounting__sync(struct index *ix, const struct accounting_options *o,
		     struct accounting_result *res);

#endif
