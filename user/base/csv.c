/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes names that users chose as cells that every reader of CSV takes for text. */
#include "base/csv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

static bool is_number(const char *s)
{
	char *end;

	if (strspn(s, "+-.0123456789eE") != strlen(s))
		return false;
	strtod(s, &end);
	return end != s && !*end;
}

static bool is_formula(const char *s)
{
	return *s && strchr("=+-@", *s) && !is_number(s);
}

/* Writes the character that s begins with, or a byte that is none. Returns how many bytes. */
static size_t put_character(struct outbuf *o, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = *s == '\n' ? 1 : utf8__visible(s);

	if (n) {
		outbuf__mem(o, s, n);
		return n;
	}
	outbuf__str(o, "\\x");
	outbuf__char(o, hex[(unsigned char)*s >> 4]);
	outbuf__char(o, hex[*s & 15]);
	return 1;
}

void csv__put(struct outbuf *o, const char *s)
{
	bool formula = is_formula(s), quote = formula || strpbrk(s, ",\"\r\n");

	if (quote)
		outbuf__char(o, '"');
	if (formula)
		outbuf__char(o, '\'');
	while (*s) {
		if (*s == '"')
			outbuf__char(o, '"');
		s += put_character(o, s);
	}
	if (quote)
		outbuf__char(o, '"');
}

void csv__print(FILE *out, const char *s)
{
	struct outbuf o;

	if (outbuf__init(&o, -1))
		return;
	csv__put(&o, s);
	fwrite(o.buf, 1, o.len, out);
	outbuf__end(&o);
}

/* ---- of JSON */

static void print_value(FILE *out, const json_t *v);

/* The values of a list or an object, one after another. */
static void print_all(FILE *out, const json_t *v)
{
	json_t *rows = (json_t *)v, *one;
	const char *key;
	size_t i;

	json_array_foreach (rows, i, one) {
		fputs(i ? "; " : "", out);
		print_value(out, one);
	}
	i = 0;
	json_object_foreach (rows, key, one) {
		fputs(i++ ? " " : "", out);
		print_value(out, one);
	}
}

static void print_value(FILE *out, const json_t *v)
{
	if (json_is_string(v))
		fputs(json_string_value(v), out);
	else if (json_is_integer(v))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		json__put_number(json_real_value(v), out);
	else if (json_is_boolean(v))
		putc('0' + json_is_true(v), out);
	else
		print_all(out, v);
}

static void print_json_cell(FILE *out, const json_t *v)
{
	char *text = NULL;
	size_t n;
	FILE *cell = open_memstream(&text, &n);

	if (!cell)
		return;
	print_value(cell, v);
	if (!fclose(cell))
		csv__print(out, text);
	free(text);
}

void csv__print_rows(FILE *out, const json_t *rows)
{
	json_t *row, *v;
	const char *key;
	size_t i, n = 0;

	json_object_foreach (json_array_get(rows, 0), key, v) {
		fputs(n++ ? "," : "", out);
		csv__print(out, key);
	}
	json_array_foreach ((json_t *)rows, i, row) {
		n = 0;
		json_object_foreach (row, key, v) {
			fputs(n++ ? "," : "\n", out);
			print_json_cell(out, v);
		}
	}
	if (n)
		putc('\n', out);
}
