/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads Slurm's accounting by sacct and makes rows of the jobs that began and have ended, with or
 * without a profile. The same window may be read again at any time.
 */
#ifndef JP_INDEX_ACCOUNTING_H
#define JP_INDEX_ACCOUNTING_H

#include "index/index.h"
#include "index/privacy.h"

struct accounting_options {
	const char *sacct; /* its path; NULL: found by PATH. Slurm's other commands are in the same
			      directory */
	const char *clusters; /* a list with commas; NULL: all that slurmdbd knows */
	double since;  /* NaN: an hour before the end of the last window, at first 30 days ago */
	double wait_s; /* for one answer; 0: ten minutes */
};

struct accounting_result {
	unsigned long jobs;	 /* rows; some may have been in the index before */
	unsigned long senseless; /* lines that are no row; the first one is logged */
	unsigned long calls;
	struct privacy_left left; /* jobs that are not among `jobs` */
};

/* Reads the jobs that have ended since. 0 or -errno, logged; rows that were read before the error
 * stay, and the next call continues after them. */
int accounting__sync(struct index *ix, const struct accounting_options *o,
		     struct accounting_result *res);

#endif
