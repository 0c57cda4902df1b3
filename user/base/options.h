/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of a program or verb as a table: from it are made the reading, --help and the bash
 * completion.
 */
#ifndef JP_BASE_OPTIONS_H
#define JP_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#define OPT_LONG 256 /* letters from here on: there is no short option */
#define OPT_MAX	 40  /* options of a command */

/* Of a verb that writes files, read here: options__overwrites() is true from then on. */
#define OPT_OVERWRITE                                                       \
	{                                                                   \
		OPT_OVERWRITE_LETTER, "overwrite", NULL,                    \
			"replaces what is at FILE; without it nothing does" \
	}
#define OPT_OVERWRITE_LETTER 0x7000

struct opt {
	int letter;
	const char *name; /* of the long option */
	const char *arg;  /* what follows, for people: "FILE"; NULL: nothing does */
	const char *help; /* NULL: the option is for tests, and left out of help and completion */
};

/* What an option takes, for completion. */
struct opt_values {
	int letter;
	void (*print)(FILE *out); /* words with a space after each; also the items of a list */
};

struct command {
	const char *name;		 /* as it is called: "jobprof extract" */
	const char *usage;		 /* what may follow the name, a line for each form */
	const char *about;		 /* what it does, in lines */
	const struct opt *opts;		 /* ends with a name of NULL; --help is in none of them */
	const struct opt_values *values; /* ends with a print of NULL; NULL: there are none */
	void (*more)(FILE *out);	 /* printed after the options; NULL: nothing */
	bool runs_another;		 /* options end at the first word that is none */
};

#define OPTIONS_GO_ON (-1)

/*
 * Gives each option to take(), which returns 0, or the exit status after having said why.
 * OPTIONS_GO_ON: argv[optind] is the first word that is no option; else the exit status: --help has
 * been printed, or what was wrong has been logged.
 */
int options__read(const struct command *c, int argc, char **argv,
		  int (*take)(void *ctx, int letter, const char *arg), void *ctx);
bool options__overwrites(void);
/* As if the option had been given: for a program that replaces files without it. */
void options__overwrite(void);
void options__help(const struct command *c, FILE *out);
/* Logs what is wrong with how it was called, and where help is. Returns 2. */
int options__wrong(const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The options, long and short, in one line: for completion. */
void options__words(const struct command *c, FILE *out);
/* Branches of a case in bash, of the word `verb` and an option: they set values='...'. */
void options__value_cases(const struct command *c, const char *verb, FILE *out);
/* A script for bash that completes a program without verbs. */
void options__completion(const struct command *c, FILE *out);

#endif
