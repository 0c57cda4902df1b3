/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of a program or verb as a table, from which the parser, --help and the bash
 * completion are made.
 */
#ifndef JP_BASE_OPTIONS_H
#define JP_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPT_MAX	   40 /* options of a command */
#define OPT_GROUPS 2

/* An option and its effect: `take` is called; without `take`, a member of the struct that
 * options__read() gets is set: to the word that follows the option if `text` is set, else to true.
 */
struct opt {	     // NOLINT(clang-analyzer-optin.performance.Padding): rows begin with the letter
	char letter; /* 0: there is no short option */
	const char *name; /* of the long option */
	const char *arg;  /* what follows, for people: "FILE"; NULL: nothing does */
	const char *help; /* NULL: the option is for tests, and left out of help and completion */
	size_t at;	  /* offset of the member */
	bool text;
	unsigned char
		group; /* 1 to OPT_GROUPS: options of a group exclude each other; 0: of none */
	/* to: the member, or the struct where `at` is 0. 0; or the exit status, logged. */
	int (*take)(void *to, const struct opt *o, const char *arg);
	void (*values)(FILE *out); /* for completion: words with a space after each; also the items
				    * of a list */
};

/* The last fields of a row, for a member that is a bool or a const char *, and for a function that
 * gets the struct or a member. */
#define OPT_FLAG(type, member) \
	.at = offsetof(type, member) + _Generic(((type *)0)->member, bool : 0)
#define OPT_TEXT(type, member) \
	.at = offsetof(type, member) + _Generic(((type *)0)->member, const char * : 0), .text = true
#define OPT_CALL(fn)		      .take = (fn)
#define OPT_CALL_AT(fn, type, member) .take = (fn), .at = offsetof(type, member)

/* The option --overwrite of verbs that write files: options__overwrites() is true from then on. */
int options__take_overwrite(void *to, const struct opt *o, const char *arg);
#define OPT_OVERWRITE                                                                      \
	{                                                                                  \
		0, "overwrite", NULL, "replaces what is at FILE; without it nothing does", \
			OPT_CALL(options__take_overwrite)                                  \
	}

struct command {
	const char *name;	 /* as it is called: "jobprof extract" */
	const char *usage;	 /* what may follow the name, a line for each form */
	const char *about;	 /* what it does, in lines */
	const struct opt *opts;	 /* ends with a name of NULL; --help is in none of them */
	void (*more)(FILE *out); /* printed after the options; NULL: nothing */
	bool runs_another;	 /* options end at the first word that is none */
	/* Called before each option takes effect; may be NULL. */
	void (*see)(void *to, const struct opt *o);
};

#define OPTIONS_GO_ON (-1)

/* OPTIONS_GO_ON: argv[optind] is the first word that is no option. Else returns the exit status:
 * --help was printed, or an error was logged. */
int options__read(const struct command *c, int argc, char **argv, void *to);
bool options__overwrites(void);
/* Acts as if --overwrite had been given: for a program that always replaces files. */
void options__overwrite(void);
void options__help(const struct command *c, FILE *out);
/* Logs what is wrong with the command line, and where help is. Returns 2. */
int options__wrong(const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The options, long and short, in one line: for completion. */
void options__words(const struct command *c, FILE *out);
/* Branches of a case in bash, of the word `verb` and an option: they set values='...'. */
void options__value_cases(const struct command *c, const char *verb, FILE *out);
/* A script for bash that completes a program without verbs. */
void options__completion(const struct command *c, FILE *out);

#endif
