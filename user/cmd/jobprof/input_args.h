/* SPDX-License-Identifier: GPL-2.0-only */
/* The options by which the verbs that read profiles find them, the same for all of these verbs. */
#ifndef JP_CMD_JOBPROF_INPUT_ARGS_H
#define JP_CMD_JOBPROF_INPUT_ARGS_H

#include "base/options.h"

#define USAGE_INPUT "(FILE | -j JOB[.STEP] [DIR])"
#define OPT_COLUMN                                                                              \
	{'s', "series", "SERIES", "Tasks, Step, Energy, ...; Tasks/3, User/solver: one table"}, \
	{                                                                                       \
		'd', "data", "COLUMN", "the column, in any case"                                \
	}
#define OPT_JOBS                                                                                  \
	{                                                                                         \
		'j', "jobs", "JOB[.STEP]",                                                        \
			"reads job_JOB.h5, or the job's node-step files; STEP: a number, batch, " \
			"extern, interactive; a comma list of steps of one job"                   \
	}
#define OPT_INPUT                                                                              \
	{'i', "input", "FILE|DIR",                                                             \
	 "reads this file, or looks there for the job's; the same as FILE or DIR "             \
	 "without -i"},                                                                        \
	{                                                                                      \
		'p', "profiledir", "DIR",                                                      \
			"looks there, and in the directories of users below; the same as DIR " \
			"without -p"                                                           \
	}
#define OPT_NODES                                                     \
	{                                                             \
		'N', "node", "HOSTLIST", "only these nodes: n[1-3,7]" \
	}

/* The word after the options as *input. 0, or 2 having said what is wrong: there are more words,
 * or --input too. */
int input_args__word(const struct command *c, int argc, char **argv, const char **input);

struct input_args {
	const char *jobs, *input;
};
struct input_file;

/* OPT_JOBS or OPT_INPUT; false: the option is another one. */
bool input_args__take(struct input_args *a, int letter, const char *arg);
/* The file that options and word name. 0, or the exit status and it has said why. */
int input_args__choose(const struct command *c, int argc, char **argv, struct input_args *a,
		       struct input_file *in);

#endif
