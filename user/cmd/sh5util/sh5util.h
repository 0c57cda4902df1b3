/* SPDX-License-Identifier: GPL-2.0-only */
/* The program under Slurm's name: its options, files, formats and exit statuses. */
#ifndef JP_CMD_SH5UTIL_SH5UTIL_H
#define JP_CMD_SH5UTIL_SH5UTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "cmd/jobprof/input_file.h"
#include "identity/jobspec.h"
#include "hdf5/reader.h"
#include "jobfile/select.h"

enum sh5_mode { SH5_MERGE, SH5_EXTRACT, SH5_ITEMS, SH5_LIST };

/* Exit statuses that scripts know. */
enum {
	SH5_OK = 0,
	SH5_FAILED = 1,
	SH5_NO_SERIES = 237,
	SH5_USAGE = 255,
	SH5_UNRESOLVED = -1, /* none: no file says that it is of the array, job or SLUID meant */
};

struct sh5_options {
	enum sh5_mode mode;
	struct jobspec *specs;
	unsigned nspecs;
	const char *input, *output, *dir, *item;
	const char *series_text;  /* as it was typed; NULL: not given */
	char series[64];	  /* its name in the file */
	struct number_range task; /* selection.tasks, if one was named */
	struct selection sel;
	struct hostlist nodes;
	char *user;
	bool totals;
	bool keep;    /* node-step files */
	bool several; /* jobs */
};

int sh5util__main(int argc, char **argv);

/* One job each. They say what they do and what fails, and return the exit status. */
int sh5__merge(const struct sh5_options *o, const struct jobspec *specs, unsigned n);
int sh5__extract(const struct sh5_options *o, const struct input_file *f);
int sh5__items(const struct sh5_options *o, const struct input_file *f);
int sh5__list(const struct sh5_options *o, const struct input_file *f);

/* Prints help on standard output. */
void sh5__help(void);
/* child_output__write, with the stock tool's words and status where the output cannot be made. */
int sh5__write(const char *path, const char *from, int (*fn)(void *arg, int fd, bool *keep),
	       void *arg);
/* Opens the job file, or says that it failed. */
struct reader *sh5__open(const char *path);
/* Whether what -j and -N name is in the file; says what is not. */
bool sh5__all_there(const struct reader *r, const char *path, const struct selection *sel);
/* The text of ids that no file has, of a job array, a heterogeneous job, a SLUID. */
void sh5__say_unresolved(const struct jobspec *spec);

#endif
