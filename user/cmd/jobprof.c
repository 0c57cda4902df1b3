/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof: the verbs of users and analysts. */
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/program.h"
#include "base/str.h"
#include "cmd/full.h"
#include "cmd/sh5util.h"
#include "cmd/verbs.h"
#include "store/anew.h"

struct verb {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *help;
};

/* NULL but in jobprof-full. */
#pragma weak verb_run
#pragma weak verb_sensors

static const struct verb verbs[] = {
	{"emit", verb_emit, "values of your own into the profile of this step"},
	{"extract", verb_extract, "tables of a profile as CSV, JSON or text"},
	{"items", verb_items, "one column over all nodes, side by side and by time"},
	{"list", verb_list, "the columns of a profile, and what each does not see"},
	{"live", verb_live, "the last rows of steps that run on this node"},
	{"mark", verb_mark, "a named instant into the profile of this step"},
	{"merge", verb_merge, "the node-step files of a job into one job file"},
	{"run", verb_run, "run a command and profile it"},
	{"sensors", verb_sensors, "what this node measures of energy, power and the like"},
	{"show", verb_show, "one page about a node-step or job file"},
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int help(FILE *out)
{
	fprintf(out, "usage: jobprof VERB [OPTION]... [ARGUMENT]...\n\n");
	for (size_t i = 0; i < N_VERBS; i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fprintf(out, "\n\"jobprof VERB --help\" tells more.\n");
	return out == stdout ? 0 : 2;
}

static int unknown_verb(const char *word)
{
	const char *names[N_VERBS + 1] = {"help"};
	const char *near;

	for (size_t i = 0; i < N_VERBS; i++)
		names[i + 1] = verbs[i].name;
	near = str__nearest(word, names, N_VERBS + 1);
	if (near)
		log_error("unknown verb \"%s\"; did you mean \"%s\"?", word, near);
	else
		log_error("unknown verb \"%s\"; \"jobprof help\" lists them", word);
	return 2;
}

/* The same program under Slurm's name. */
static bool called_sh5util(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;

	return name && !strcmp(slash ? slash + 1 : name, "sh5util");
}

static int start(const struct verb *v, int argc, char **argv)
{
	if (v->fn)
		return v->fn(argc - 1, argv + 1);
	full__become(v->name);
	return 1;
}

static int run(int argc, char **argv)
{
	if (called_sh5util(argv[0]))
		return sh5util__main(argc, argv);
	log__init("jobprof", LOGL_INFO);
	if (argc < 2)
		return help(stderr);
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(stdout);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("jobprof %s\n", JOBPROF_VERSION);
		return 0;
	}
	for (size_t i = 0; i < N_VERBS; i++)
		if (!strcmp(argv[1], verbs[i].name))
			return start(&verbs[i], argc, argv);
	return unknown_verb(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	/* jobprof-full merges for jobprofd, as the job's user, who must not get into it */
	if (verb_run)
		program__close_to_user();
	anew__init(argv);
	full__init(argv);
	status = run(argc, argv);

	if (!fflush(stdout) && !ferror(stdout))
		return status;
	log_error("cannot write the output: %s", strerror(errno));
	return status ? status : 1;
}
