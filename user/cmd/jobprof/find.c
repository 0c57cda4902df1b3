/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof find: what a word is, and the command that shows more of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "index/find.h"

struct options {
	struct site_args site;
	const char *word;
};

static const struct opt opts[] = {
	{0, "word", "WORD", "the word, where it begins with \"-\"", OPT_TEXT(struct options, word)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, site.json), .group = 1},
	{0, "csv", NULL, "as CSV", OPT_FLAG(struct options, site.csv), .group = 1},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_find = {
	.name = "jobprof find",
	.usage = "WORD [OPTION]...",
	.about = "What WORD is: a job's number, a user, a project, a node, or the name of jobs.\n"
		 "Where nothing is called so: the first names that begin with it.",
	.opts = opts,
};

static const struct site_column columns[] = {
	{"what", "what", NULL, CELL_TEXT, 0, 0},
	{"name", "name", NULL, CELL_TEXT, 0, 60},
	{"has_profile", "", NULL, CELL_HIDDEN, 2, 0},
	{"see", "see", NULL, CELL_TEXT, 1, 0},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

/* "jobprof usage --user a --by name" */
static char *command_of(const struct found *f)
{
	static const struct {
		const char *what, *before, *equal, *after;
	} of[] = {
		{"job", "jobs --jobs", "", ""},
		{"running", "running --jobs", "", ""},
		{"user", "usage --user", "", " --by name"},
		{"project", "usage --project", "", " --by user"},
		{"node", "jobs --node", "", ""},
		{"name", "jobs --name", "=", ""},
	};
	char *text = NULL, *word = NULL;
	size_t i = 0, n;
	FILE *out = open_memstream(&text, &n);

	while (strcmp(of[i].what, f->what))
		i++;
	if (out && asprintf(&word, "%s%s", of[i].equal, f->name) >= 0) {
		fprintf(out, "jobprof %s ", of[i].before);
		site_args__print_word(out, word);
		fputs(of[i].after, out);
		free(word);
	}
	if (out && !fclose(out) && *text)
		return text;
	free(text);
	return NULL;
}

static int take(void *arg, const struct found *f)
{
	char *see = command_of(f);
	const struct db_value cells[N_COLUMNS] = {
		db_value__text(f->what),
		db_value__text(f->name),
		db_value__int(f->has_profile),
		db_value__text(see),
	};
	const int err = see ? site_table__add(arg, cells) : -ENOMEM;

	free(see);
	return err;
}

static int print(const struct options *o, const struct site_table *t)
{
	json_t *about;

	if (!o->site.json && !o->site.csv && !t->nrows) {
		fputs("nothing that you may see is called ", stdout);
		site_args__print_word(stdout, o->word);
		puts(", or begins with that");
		return 0;
	}
	about = json_object();
	json__set(about, "word", json__text(o->word));
	return site_args__print(&o->site, t, about);
}

/* 0, or the exit status. */
static int take_word(struct options *o, int argc, char **argv)
{
	if (optind + !o->word != argc)
		return options__wrong(&cmd_find, "it takes one word");
	if (!o->word)
		o->word = argv[optind];
	if (*o->word)
		return 0;
	return options__wrong(&cmd_find, "the word is empty");
}

int verb_find(int argc, char **argv)
{
	struct options o = {0};
	struct site_table t = {.columns = columns, .ncolumns = N_COLUMNS};
	struct viewer viewer;
	struct index ix;
	int status, err;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_find, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = take_word(&o, argc, argv);
	if (!status)
		status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	err = find__each(&ix, o.word, &viewer, take, &t);
	if (err == -E2BIG)
		log_error("find: no name is longer than %d bytes", FIND_BYTES);
	status = err == -E2BIG ? 2 : err ? 1 : print(&o, &t);
	site_table__free(&t);
	index__close(&ix);
	return status;
}
