/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes headers and bodies of mails. */
#include "view/site/mail.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/escape.h"
#include "base/utf8.h"

#define ADDRESS_MAX 512
#define SUBJECT_MAX 300 /* bytes */
#define WORD	    42	/* bytes in an encoded word, which has at most 75 characters (RFC 2047) */
#define LINE	    76
#define FINDINGS    3
#define NO_PROFILE  "There is no profile of it, so its use of resources is unknown."

/* With another begin, mail programs take an address for a program, a file or an option. */
static bool begins_well(const char *address)
{
	return !strchr("|/-,", *address);
}

bool mail__is_address(const char *text)
{
	size_t n = strlen(text);

	if (!n || n > ADDRESS_MAX || !begins_well(text))
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f || strchr("()<>[]:;\\\"|", *text) ||
		    (*text == ',' && !begins_well(text + 1)))
			return false;
	return true;
}

/* ---- headers */

static bool is_ascii(const char *s)
{
	while (*s >= ' ' && *s < 0x7f)
		s++;
	return !*s;
}

/* Prints encoded words (RFC 2047) of whole characters, each on a line of its own. */
static void put_encoded(FILE *out, const char *s)
{
	const char *sep = "";

	while (*s) {
		size_t n = 0, next;
		char *digits;

		while ((next = utf8__visible(s + n)) && n + next <= WORD)
			n += next;
		digits = n ? base64__of(s, n, 0) : NULL;
		if (!digits)
			return;
		fprintf(out, "%s=?UTF-8?B?%s?=", sep, digits);
		free(digits);
		sep = "\n ";
		s += n;
	}
}

/* Prints the subject without control and invisible characters, so that it is one line. */
static void put_subject(FILE *out, const char *subject)
{
	unsigned replaced;
	char *cut = utf8__clean(subject, SUBJECT_MAX, &replaced);
	char *shown = cut ? utf8__shown(cut, &replaced) : NULL;

	fputs("Subject: ", out);
	if (shown && is_ascii(shown) && !strstr(shown, "=?"))
		fputs(shown, out);
	else if (shown)
		put_encoded(out, shown);
	putc('\n', out);
	free(shown);
	free(cut);
}

static void put_date(FILE *out, double at)
{
	time_t t = (time_t)at;
	struct tm tm;
	char text[64];

	/* in the locale "C", in which a program is unless it asks for another */
	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &tm))
		fprintf(out, "Date: %s\n", text);
}

static void put_part(FILE *out, const char *boundary, const char *type, const char *text)
{
	char *digits = base64__of(text, strlen(text), LINE);

	fprintf(out,
		"--%s\nContent-Type: %s; charset=utf-8\nContent-Transfer-Encoding: base64\n\n%s\n",
		boundary, type, digits ? digits : "");
	free(digits);
}

char *mail__compose(const struct mail *m)
{
	static const char boundary[] = "=_jobprof"; /* base64 has no "_" */
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "To: %s\n", m->to);
	put_subject(out, m->subject);
	put_date(out, m->at);
	fprintf(out,
		"Message-ID: <%s>\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
		"Content-Type: multipart/alternative; boundary=\"%s\"\n\n",
		m->id, boundary);
	put_part(out, boundary, "text/plain", m->text);
	put_part(out, boundary, "text/html", m->html);
	fprintf(out, "--%s--\n", boundary);
	return fclose(out) ? NULL : text;
}

/* ---- bodies */

static unsigned shown_findings(const struct mail_body *b)
{
	unsigned n = b->row ? b->row->nfindings : 0;

	return n < FINDINGS ? n : FINDINGS;
}

static const char *severity_name(const struct row_finding *f)
{
	static const char *const names[] = {"note", "warning", "bad"};

	return names[f->severity < 0 || f->severity > 2 ? 0 : f->severity];
}

/* Prints a text without control and invisible characters. */
static void put_shown(FILE *out, const char *text)
{
	unsigned replaced;
	char *shown = utf8__shown(text, &replaced);

	fputs(shown ? shown : "", out);
	free(shown);
}

void mail_body__print_text(const struct mail_body *b, FILE *out)
{
	const unsigned n = shown_findings(b);

	put_shown(out, b->head);
	fprintf(out, "\n\n%s\n", *b->lines ? b->lines : b->says_end ? NO_PROFILE "\n" : "");
	for (unsigned i = 0; i < n; i++) {
		const struct row_finding *f = &b->row->findings[i];

		fprintf(out, "%s: ", severity_name(f));
		put_shown(out, f->text);
		if (*f->where) {
			fputs(" (", out);
			put_shown(out, f->where);
			putc(')', out);
		}
		if (*f->remedy) {
			fputs("\n    What to change: ", out);
			put_shown(out, f->remedy);
		}
		fputs("\n\n", out);
	}
	if (b->row && b->row->nfindings > n)
		fprintf(out, "Further findings: %u.\n", b->row->nfindings - n);
	if (b->command)
		fprintf(out, "%s explains it.\n", b->command);
}

static void put_xml(FILE *out, const char *text)
{
	print__xml(out, text, strlen(text));
}

/* Prints "NAME: VALUE" as a row of a table. */
static void put_row(FILE *out, const char *line, size_t len)
{
	const char *colon = memmem(line, len, ": ", 2);

	fputs("<tr>", out);
	if (colon) {
		fputs("<th align=\"left\">", out);
		print__xml(out, line, (size_t)(colon - line));
		fputs("</th><td>", out);
		len -= (size_t)(colon + 2 - line);
		line = colon + 2;
	} else {
		fputs("<td colspan=\"2\">", out);
	}
	print__xml(out, line, len);
	fputs("</td></tr>\n", out);
}

static void put_table(FILE *out, const char *lines)
{
	fputs("<table cellpadding=\"3\">\n", out);
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
		put_row(out, lines, (size_t)(end - lines));
	fputs("</table>\n", out);
}

static void put_finding(FILE *out, const struct row_finding *f)
{
	fprintf(out, "<p><b>%s:</b> ", severity_name(f));
	put_xml(out, f->text);
	if (*f->where) {
		fputs(" (", out);
		put_xml(out, f->where);
		putc(')', out);
	}
	if (*f->remedy) {
		fputs("<br><b>What to change:</b> ", out);
		put_xml(out, f->remedy);
	}
	fputs("</p>\n", out);
}

void mail_body__print_html(const struct mail_body *b, FILE *out)
{
	const unsigned n = shown_findings(b);

	fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head>"
	      "<body style=\"font-family: sans-serif\">\n<p>",
	      out);
	put_xml(out, b->head);
	fputs("</p>\n", out);
	if (*b->lines)
		put_table(out, b->lines);
	else if (b->says_end)
		fputs("<p>" NO_PROFILE "</p>\n", out);
	for (unsigned i = 0; i < n; i++)
		put_finding(out, &b->row->findings[i]);
	if (b->row && b->row->nfindings > n)
		fprintf(out, "<p>Further findings: %u.</p>\n", b->row->nfindings - n);
	if (b->command) {
		fputs("<p><code>", out);
		put_xml(out, b->command);
		fputs("</code> explains it.</p>\n", out);
	}
	fputs("</body></html>\n", out);
}
