/* SPDX-License-Identifier: GPL-2.0-only */
/* The one FILE argument that several verbs take. */
#include "cmd/jobprof/input_args.h"

#include <unistd.h>

#include "cmd/jobprof/input_file.h"

int input_args__word(const struct command *c, int argc, char **argv, const char **input)
{
	if (optind == argc)
		return 0;
	if (*input || optind + 1 < argc)
		return options__wrong(c, "\"%s\" is one file too many",
				      argv[*input ? optind : optind + 1]);
	*input = argv[optind];
	return 0;
}

int input_args__choose(const struct command *c, int argc, char **argv, struct select_words *w,
		       struct input_file *in)
{
	int status = input_args__word(c, argc, argv, &w->input);

	if (status)
		return status;
	if (!w->jobs && !w->input)
		return options__wrong(c, "which file: FILE or -j JOB");
	return input_file__choose(in, w->jobs, w->input);
}
