/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows of Slurm's accounting, which sacct prints: of each job that began and has ended, with
 * or without a profile. A job may be read again at any time: its row is updated.
 */
#ifndef JP_INDEX_ACCOUNTING_H
#define JP_INDEX_ACCOUNTING_H

#include "index/index.h"
#include "index/privacy.h"

struct accounting_options {
	const char *sacct;    /* path, whose directory counts; NULL: PATH is searched */
	const char *clusters; /* separated by commas; NULL: all that slurmdbd knows */
	double since;  /* Unix time; NaN: an hour before the last end read, at first 30 days ago */
	double wait_s; /* for one answer of sacct; 0: ten minutes */
};

struct accounting_result {
	unsigned long jobs;	 /* rows that were written, new or again */
	unsigned long senseless; /* lines that are not a row; the first one was logged */
	unsigned long calls;
	struct privacy_left left; /* what privacy.h left out */
};

/* Reads the jobs that have ended since. 0 or -errno, logged. After an error the rows that were read
 * stay, and a later call continues from there. */
int accounting__sync(struct index *ix, const struct accounting_options *o,
		     struct accounting_result *res);

/* For the files of this room: runs a command that is where sacct is. 0; -ENOENT: it cannot be run;
 * -errno. Logged, but for -ENOENT, -EFBIG and errors of take(). */
int accounting_ask(const struct accounting_options *o, char *const argv[],
		   int (*take)(void *arg, const char *line), void *arg);

#endif
