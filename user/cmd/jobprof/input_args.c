/* SPDX-License-Identifier: GPL-2.0-only */
/* The one FILE argument that several verbs take. */
#include "cmd/jobprof/input_args.h"

#include <unistd.h>

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
