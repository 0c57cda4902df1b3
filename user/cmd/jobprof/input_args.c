/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The FILE argument that several verbs take, and the profiles that it names. */
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

int input_args__profiles(struct profiles *out, const struct select_words *w,
			 const struct string_list *nodes)
{
	const struct profile_words words = {.jobs = w->jobs, .where = w->input, .nodes = nodes};

	return profiles__find(out, &words);
}

int input_args__file(struct profiles *out, const struct select_words *w)
{
	const struct profile_words words = {.jobs = w->jobs, .where = w->input};
	int status = profiles__find(out, &words);

	return status ? status : profiles__one(out, &words) ? 0 : 1;
}

int input_args__choose(struct profiles *out, const struct command *c, int argc, char **argv,
		       struct select_words *w)
{
	int status = input_args__word(c, argc, argv, &w->input);

	*out = (struct profiles){0};
	return status ? status : input_args__file(out, w);
}
