// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a command as one line of text. Anybody may read a command in /proc while its process
 * lives, but a file lives longer and is passed on: secrets are left out. */
#include "base/command_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK "***"

static bool has_secret_word(const char *name, size_t len)
{
	static const char *const words[] = {"password", "passwd", "passphrase",
					    "secret",	"token",  "api_key",
					    "api-key",	"apikey", "credential"};

	for (size_t at = 0; at < len; at++)
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i]) <= len - at &&
			    !strncasecmp(name + at, words[i], strlen(words[i])) &&
			    !isalpha((unsigned char)name[at + strlen(words[i])])) /* "tokens" */
				return true;
	return false;
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-' || s[n] == '.')
		n++;
	return n;
}

/* How long a value is: to its closing quote, or to where a shell ends a word. */
static size_t value_length(const char *s)
{
	if (*s == '\'' || *s == '"') {
		const char *end = strchr(s + 1, *s);

		return end ? (size_t)(end + 1 - s) : strlen(s);
	}
	return strcspn(s, " \t\n;&|'\")");
}

/* "://user:password@": the length of "://user:" where it begins at s; 0: it does not. */
static size_t before_password(const char *s)
{
	size_t user, password;

	if (strncmp(s, "://", 3))
		return 0;
	user = strcspn(s + 3, ":/@ \t\n'\"");
	if (s[3 + user] != ':')
		return 0;
	password = strcspn(s + 4 + user, "/@ \t\n'\"");
	return s[4 + user + password] == '@' ? 4 + user : 0;
}

/* A word of the command, which may be a script. */
static void put_masked(const char *s, FILE *out)
{
	while (*s) {
		size_t name = name_length(s), url = before_password(s);

		if (url) {
			fprintf(out, "%.*s" MASK, (int)url, s);
			s += url + strcspn(s + url, "/@");
		} else if (!name) {
			putc(*s++, out);
		} else {
			bool ends = s[name] == '=' || (*s == '-' && s[name] == ' ');

			fprintf(out, "%.*s", (int)name, s);
			if (ends && has_secret_word(s, name)) {
				fprintf(out, "%c" MASK, s[name]);
				s += name + 1;
				name = value_length(s);
			}
			s += name;
		}
	}
}

static void put_word(const char *word, bool is_secret, FILE *out)
{
	size_t name = name_length(word);

	if (is_secret)
		fputs(MASK, out);
	else if (word[name] == '=' && has_secret_word(word, name))
		fprintf(out, "%.*s=" MASK, (int)name, word);
	else
		put_masked(word, out);
}

/* In quotes where a shell would take it for something else. */
static void put_quoted(const char *word, FILE *out)
{
	if (*word && !word[strcspn(word, " \t\n'\"\\$`!*?[](){}<>|&;#~")]) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	putc('\'', out);
}

/* false: no memory. */
static bool put_argument(const char *word, bool is_secret, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool ok;

	if (f)
		put_word(word, is_secret, f);
	ok = f && !fclose(f);
	if (ok && strcmp(text, word)) /* "***" needs no quotes to be understood */
		fputs(text, out);
	else if (ok)
		put_quoted(text, out);
	free(text);
	return ok;
}

char *command_line__of(char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool is_secret = false, ok = out;

	for (char *const *a = argv; ok && *a; a++) {
		if (a != argv)
			putc(' ', out);
		ok = put_argument(*a, is_secret, out);
		is_secret = **a == '-' && !(*a)[name_length(*a)] && has_secret_word(*a, strlen(*a));
	}
	if ((out && fclose(out)) || !ok) {
		free(text);
		return NULL;
	}
	if (size > COMMAND_LINE_MAX)
		snprintf(text + COMMAND_LINE_MAX - 3, 4, "...");
	return text;
}

const char *command_line__short(const char *command, size_t room,
				char buf[static COMMAND_LINE_MAX + 1])
{
	bool shorten = strlen(command) > room;
	size_t len = 0;

	while (*command && len < COMMAND_LINE_MAX) {
		size_t n = strcspn(command, " ");
		const char *name = memrchr(command, '/', n);

		if (shorten && *command == '/' && name + 1 < command + n) {
			n -= (size_t)(name + 1 - command);
			command = name + 1;
		}
		n += command[n] == ' ';
		n = n < COMMAND_LINE_MAX - len ? n : COMMAND_LINE_MAX - len;
		for (size_t i = 0; i < n; i++)
			buf[len++] = (unsigned char)command[i] < ' ' ? ' ' : command[i];
		command += n;
	}
	buf[len] = 0;
	return buf;
}
