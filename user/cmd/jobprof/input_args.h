/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options by which all verbs that read profiles find them and select parts: rows of an option
 * table for a struct `type` whose member `words` is a struct select_words. */
#ifndef JP_CMD_JOBPROF_INPUT_ARGS_H
#define JP_CMD_JOBPROF_INPUT_ARGS_H

#include "base/options.h"
#include "cmd/jobprof/select_args.h"
#include "jobfile/profiles.h"
#include "schema/series.h"

#define USAGE_INPUT  "[FILE | -j JOB[.STEP] [DIR]]"
#define USAGE_INPUTS "[FILE... | -j JOB[.STEP][,...] [DIR]]"
#define OPT_COLUMN(type)                                                                        \
	{'s',                                                                                   \
	 "series",                                                                              \
	 "SERIES",                                                                              \
	 "Tasks, Step, Energy, ...; Tasks/3, User/solver: one table",                           \
	 OPT_TEXT(type, words.series),                                                          \
	 .values = series__print_names},                                                        \
	{                                                                                       \
		'd', "data", "COLUMN", "the column, in any case", OPT_TEXT(type, words.column), \
			.values = series__print_columns                                         \
	}
#define OPT_JOBS(type)                                                                            \
	{                                                                                         \
		'j', "jobs", "JOB[.STEP]",                                                        \
			"reads job_JOB.h5, or the job's node-step files; STEP: a number, batch, " \
			"extern, interactive; a comma list of steps of one job",                  \
			OPT_TEXT(type, words.jobs)                                                \
	}
#define OPT_INPUT(type)                                                                        \
	{'i', "input", "FILE|DIR",                                                             \
	 "reads this file, or looks there for the job's; the same as FILE or DIR without -i",  \
	 OPT_TEXT(type, words.input)},                                                         \
	{                                                                                      \
		'p', "profiledir", "DIR",                                                      \
			"looks there, and in the directories of users below; the same as DIR " \
			"without -p",                                                          \
			OPT_TEXT(type, words.input)                                            \
	}
#define OPT_NODES(type)                                                                            \
	{                                                                                          \
		'N', "node", "HOSTLIST", "only these nodes: n[1-3,7]", OPT_TEXT(type, words.nodes) \
	}

/* Sets *input to the word after the options. 0; 2: there are more words, or --input is given too,
 * which is logged. */
int input_args__word(const struct command *c, int argc, char **argv, const char **input);

/* Finds the profiles that the options and the word name. 0, or the exit status, logged;
 * profiles__free() in all cases. */
int input_args__profiles(struct profiles *out, const struct select_words *w,
			 const struct string_list *nodes);
/* The same for a verb that reads one file, out->files[0]. */
int input_args__file(struct profiles *out, const struct select_words *w);
/* The same, with the word after the options, for a verb that takes no other word. */
int input_args__choose(struct profiles *out, const struct command *c, int argc, char **argv,
		       struct select_words *w);

#endif
