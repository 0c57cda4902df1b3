// SPDX-License-Identifier: GPL-2.0-only
/*
 * New peaks replace the old ones of a section of the file. The file may have been written by hand:
 * all lines are copied except those that begin with a key which is replaced.
 */
#include "peaks/peaks_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

#define NOTE "# jobprof calibrate: "

static const char *skip_blanks(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* The text behind "KEY=" at the beginning of a line; NULL: the line begins with another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	line = skip_blanks(line);
	if (strncasecmp(line, key, len) != 0)
		return NULL;
	line = skip_blanks(line + len);
	return *line == '=' ? skip_blanks(line + 1) : NULL;
}

static bool is_value(const char *text, const char *wanted)
{
	bool quoted = *text == '"';
	size_t len = strcspn(text + quoted, quoted ? "\"\n" : " \t\r\n#");

	return len == strlen(wanted) && !strncmp(text + quoted, wanted, len);
}

static bool is_replaced(const char *line, const struct peaks *p)
{
	if (str__starts(skip_blanks(line), NOTE))
		return true;
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		if (!isnan(p->of[i].value) && value_of(line, peak__key(i)))
			return true;
	return false;
}

static void print_peaks(FILE *to, const struct peaks *p, const char *note)
{
	fprintf(to, NOTE "%s\n", note);
	for (unsigned i = 0; i < PEAK_KINDS; i++)
		peak__print(i, &p->of[i], to);
}

/* A file as it is copied. Blank lines and comments are held back: new peaks come before them at the
 * end of their section. */
struct copy {
	FILE *to, *held;
	char *text; /* what is held back */
	size_t len;
	const char *list, *note;
	const struct peaks *p;
	bool inside, done;
};

static void let_go(struct copy *c)
{
	fflush(c->held);
	fwrite(c->text, 1, c->len, c->to);
	rewind(c->held);
	fflush(c->held);
}

static void end_section(struct copy *c)
{
	if (c->inside && !c->done) {
		print_peaks(c->to, c->p, c->note);
		c->done = true;
	}
	c->inside = false;
	let_go(c);
}

static void copy_line(struct copy *c, const char *line)
{
	const char *list = value_of(line, PEAKS_NODES), *end = strchr(line, '\n');
	char first = *skip_blanks(line);

	if (c->inside && is_replaced(line, c->p))
		return;
	if (list) {
		end_section(c);
		c->inside = is_value(list, c->list);
	} else if (first != '\0' && first != '#') {
		let_go(c);
	}
	fprintf(first == '\0' || first == '#' ? c->held : c->to, "%s%s", line, end ? "" : "\n");
}

int peaks__replace(FILE *from, FILE *to, const char *list, const struct peaks *p, const char *note)
{
	struct copy c = {.to = to, .list = list, .note = note, .p = p};
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	c.held = open_memstream(&c.text, &c.len);
	if (!c.held)
		return -ENOMEM;
	while (from && getline(&line, &cap, from) >= 0)
		copy_line(&c, line);
	end_section(&c);
	if (!c.done) {
		fprintf(to, "%s" PEAKS_NODES "=%s\n", from && ftell(to) > 0 ? "\n" : "", list);
		print_peaks(to, p, note);
	}
	fclose(c.held);
	free(c.text);
	return (from && ferror(from)) || ferror(to) ? -EIO : 0;
}
