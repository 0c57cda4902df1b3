/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program under Slurm's name: its options, files, formats and exit statuses. */
#ifndef JP_CMD_SH5UTIL_SH5UTIL_H
#define JP_CMD_SH5UTIL_SH5UTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "identity/jobspec.h"
#include "jobfile/jobfile.h"
#include "jobfile/profile_search.h"
#include "model/model.h"

enum sh5_mode { SH5_MERGE, SH5_EXTRACT, SH5_ITEMS, SH5_LIST };

/* Exit statuses that scripts know. */
enum {
	SH5_OK = 0,
	SH5_FAILED = 1,
	SH5_NO_SERIES = 237,
	SH5_USAGE = 255,
	SH5_UNRESOLVED = -1, /* no exit status: the array, the job or the SLUID has no file */
};

struct sh5_options {
	enum sh5_mode mode;
	struct jobspec *specs;
	unsigned nspecs;
	const char *input, *output, *dir, *item;
	const char *series_text;  /* as typed; NULL: not given */
	char series[64];	  /* name in the file */
	struct number_range task; /* selection.tasks, if one was named */
	struct selection sel;
	struct string_list nodes;
	char *user;
	bool totals;
	bool keep;    /* node-step files */
	bool several; /* jobs */
};

/* The file from which a job is read. */
struct sh5_file {
	char *path;
	uint32_t job;
};

int sh5util__main(int argc, char **argv);

/* Returns false where the program ends with *status: help was printed, or an option is wrong, which
 * is logged. */
bool sh5__options(int argc, char **argv, struct sh5_options *o, int *status);

#endif
