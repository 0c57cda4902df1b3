/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of a table from argv, and prints the table as help and for completion. */
#include "base/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

#define WIDTH	80
#define MARGIN	28 /* where the texts begin, at most */
#define HELP	'h'
#define SHORTED 80
#define LONG	256 /* what getopt returns of options without a letter: LONG + index */

static const struct opt help_opt = {HELP, "help", NULL, "print this", .at = 0};

/* The table as getopt_long wants it. */
static void prepare_options(const struct command *c, struct option longs[static OPT_MAX + 2],
			    char shorts[static SHORTED + 4])
{
	char *s = shorts;
	unsigned n = 0;

	*s++ = c->runs_another ? '+' : ':';
	if (c->runs_another)
		*s++ = ':';
	for (const struct opt *o = c->opts;; o++) {
		const struct opt *opt = o->name && n < OPT_MAX ? o : &help_opt;

		longs[n] = (struct option){opt->name, opt->arg ? required_argument : no_argument,
					   NULL, opt->letter ? opt->letter : LONG + (int)n};
		n++;
		if (opt->letter && s < shorts + SHORTED) {
			*s++ = opt->letter;
			if (opt->arg)
				*s++ = ':';
		}
		if (opt == &help_opt)
			break;
	}
	*s = '\0';
	longs[n] = (struct option){0};
}

static const char *nearest(const struct command *c, const char *word)
{
	const char *names[OPT_MAX + 1] = {help_opt.name};
	unsigned n = 1;

	for (const struct opt *o = c->opts; o->name && n <= OPT_MAX; o++)
		if (o->help)
			names[n++] = o->name;
	return str__nearest(word, names, n);
}

/* getopt says the same of an option that is not there and of one that is cut too short. */
static bool is_beginning(const struct command *c, const char *name)
{
	for (const struct opt *o = c->opts; o->name; o++)
		if (str__starts(o->name, name))
			return true;
	return str__starts(help_opt.name, name);
}

/* word: as it was typed; getopt tells an option of one letter in optopt. */
static int complain(const struct command *c, int how, const char *word)
{
	const char *near;
	char name[64];

	if (optopt && optopt < LONG && !str__starts(word, "--"))
		return how == ':' ? options__wrong(c, "-%c wants something after it", optopt)
				  : options__wrong(c, "there is no option -%c", optopt);
	if (how == ':')
		return options__wrong(c, "%s wants something after it", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (optopt)
		return options__wrong(c, "%s takes nothing after \"=\"", name);
	near = nearest(c, name + 2);
	if (near)
		return options__wrong(c, "there is no option %s; did you mean --%s?", name, near);
	return options__wrong(c,
			      is_beginning(c, name + 2) ? "more than one option begins with %s"
							: "there is no option %s",
			      name);
}

static bool overwrites;

bool options__overwrites(void)
{
	return overwrites;
}

void options__overwrite(void)
{
	overwrites = true;
}

int options__take_overwrite(void *to, const struct opt *o, const char *arg)
{
	overwrites = true;
	return 0;
}

static const struct opt *find_opt(const struct command *c, int letter)
{
	const struct opt *o = c->opts;

	if (letter >= LONG)
		return &c->opts[letter - LONG];
	while (o->letter != letter)
		o++;
	return o;
}

/* Says which options the group has. Returns the exit status. */
static int refuse_two(const struct command *c, unsigned group)
{
	char text[256] = "";
	size_t n = 0;
	unsigned left = 0;

	for (const struct opt *o = c->opts; o->name; o++)
		left += o->group == group;
	for (const struct opt *o = c->opts; o->name && n < sizeof(text); o++) {
		if (o->group != group)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s%s",
				      o->letter ? "-" : "--", o->letter ? 1 : 32,
				      o->letter ? &o->letter : o->name,
				      --left > 1 ? ", "
				      : left	 ? " and "
						 : "");
	}
	return options__wrong(c, "one of %s", text);
}

/* given: the option that came first, of each group. */
static int take_opt(const struct command *c, const struct opt *o, const char *arg, void *to,
		    const struct opt *given[OPT_GROUPS + 1])
{
	void *at = (char *)to + o->at;

	if (o->group && given[o->group] && given[o->group] != o)
		return refuse_two(c, o->group);
	given[o->group] = o;
	if (c->see)
		c->see(to, o);
	if (o->take)
		return o->take(at, o, arg);
	if (o->text)
		*(const char **)at = arg;
	else
		*(bool *)at = true;
	return 0;
}

int options__read(const struct command *c, int argc, char **argv, void *to)
{
	struct option longs[OPT_MAX + 2];
	char shorts[SHORTED + 4];
	const struct opt *given[OPT_GROUPS + 1] = {NULL};
	int letter, status;

	prepare_options(c, longs, shorts);
	opterr = 0;
	optopt = 0;
	while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (letter == '?' || letter == ':')
			return complain(c, letter, argv[optind - 1]);
		if (letter == HELP) {
			options__help(c, stdout);
			return 0;
		}
		status = take_opt(c, find_opt(c, letter), optarg, to, given);
		if (status)
			return status;
		optopt = 0;
	}
	return OPTIONS_GO_ON;
}

int options__wrong(const struct command *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s; see \"%s --help\"", text, c->name);
	return 2;
}

/* Words from column `at` on, in lines of WIDTH; the cursor is at column `col`. */
static void print_words(FILE *out, const char *text, int at, int col)
{
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (col > at && col + 1 + len > WIDTH) {
			fprintf(out, "\n%*s", at, "");
			col = at;
		} else if (col < at) {
			fprintf(out, "%*s", at - col, "");
			col = at;
		} else if (col > at) {
			col += fprintf(out, " ");
		}
		col += fprintf(out, "%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static int left_side(const struct opt *o, char *buf, size_t size)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	return snprintf(buf, size, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
			o->arg ? o->arg : "");
}

static void print_option(FILE *out, const struct opt *o, int at)
{
	char left[64];
	int col = left_side(o, left, sizeof(left));

	fputs(left, out);
	if (col + 2 > at) {
		fputc('\n', out);
		col = 0;
	}
	print_words(out, o->help, at, col);
}

/* A line for each form; what is too long for it goes on below the first argument. */
static void print_usage(const struct command *c, FILE *out)
{
	const char *form = c->usage;
	char one[256];

	for (const char *begin = "usage:"; *form; begin = "      ") {
		int len = (int)strcspn(form, "\n"), col;

		snprintf(one, sizeof(one), "%.*s", len, form);
		col = fprintf(out, "%s %s", begin, c->name);
		print_words(out, one, col + 1, col);
		form += len + (form[len] == '\n');
	}
}

void options__help(const struct command *c, FILE *out)
{
	int at = 0, len;
	char left[64];

	print_usage(c, out);
	fprintf(out, "\n%s\n\n", c->about);
	for (const struct opt *o = c->opts; o->name; o++) {
		if (!o->help)
			continue;
		len = left_side(o, left, sizeof(left)) + 2;
		if (len > at && len <= MARGIN)
			at = len;
	}
	for (const struct opt *o = c->opts; o->name; o++)
		if (o->help)
			print_option(out, o, at);
	print_option(out, &help_opt, at);
	if (c->more)
		c->more(out);
}

void options__words(const struct command *c, FILE *out)
{
	for (const struct opt *o = c->opts;; o++) {
		const struct opt *opt = o->name ? o : &help_opt;

		if (!opt->help)
			continue;
		if (opt->letter)
			fprintf(out, "-%c ", opt->letter);
		fprintf(out, "--%s%s", opt->name, opt == &help_opt ? "" : " ");
		if (opt == &help_opt)
			break;
	}
}

void options__value_cases(const struct command *c, const char *verb, FILE *out)
{
	for (const struct opt *o = c->opts; o->name; o++) {
		if (!o->values)
			continue;
		fprintf(out, "\t'%s --%s'", verb, o->name);
		if (o->letter)
			fprintf(out, "|'%s -%c'", verb, o->letter);
		fputs(") values='", out);
		o->values(out);
		fputs("' ;;\n", out);
	}
}

void options__completion(const struct command *c, FILE *out)
{
	fprintf(out, "complete -o default -W '");
	options__words(c, out);
	fprintf(out, "' %s\n", c->name);
}
