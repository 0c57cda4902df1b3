/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values for jansson that are always valid JSON, and its output with short numbers. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"

#define EXACT 9007199254740992.0 /* doubles have all integers up to there */

json_t *json__number(double v)
{
	/* The largest doubles are not when they have been rounded to 15 digits; -0 is 0. */
	return fabs(v) < 1.7e308 ? json_real(v + 0.0) : json_null();
}

json_t *json__whole(double v)
{
	return fabs(v) <= EXACT && v == trunc(v) ? json_integer((json_int_t)v) : json__number(v);
}

json_t *json__numbers(const double *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json__number(v[i]));
	return a;
}

json_t *json__text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	char *text = NULL;
	size_t len;
	FILE *f;

	if (j)
		return j;
	f = open_memstream(&text, &len);
	if (!f)
		return json_null();
	print__ascii(f, s);
	fclose(f);
	j = json_string(text);
	free(text);
	return j ? j : json_null();
}

json_t *json__nonempty(const char *s)
{
	return json__text(s && *s ? s : NULL);
}

/* n / 10^decimals, without zeros at the end, but for one after the point. */
static void put_decimal(int64_t n, int decimals, bool is_negative, FILE *out)
{
	char text[48], *end = text;

	for (; decimals > 1 && n % 10 == 0; decimals--)
		n /= 10;
	for (int i = 0; i <= decimals || n; i++, n /= 10) {
		*end++ = (char)('0' + n % 10);
		if (i == decimals - 1)
			*end++ = '.';
	}
	if (is_negative)
		*end++ = '-';
	while (end > text) /* from behind */
		putc_unlocked(*--end, out);
}

/* Whether so many decimals are read back as v, whose size is `size`; then they are printed. Both
 * 10^decimals and an integer up to 2^53 are exact, so that their quotient, rounded once, is what
 * readers make of the text. */
static bool put_if_equal(double v, double size, int decimals, FILE *out)
{
	static const double tens[] = {1e0,  1e1,  1e2,	1e3,  1e4,  1e5,  1e6,	1e7,
				      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const double near = nearbyint(size * tens[decimals]);

	for (int i = 0; i < 3; i++) {
		const double n = near + (i == 1) - (i == 2);

		if (n > EXACT || n / tens[decimals] != size)
			continue;
		put_decimal((int64_t)n, decimals, v < 0, out);
		return true;
	}
	return false;
}

/* Prints numbers of which printf writes no exponent, in a fifth of its time. 0, or how many digits
 * are needed at least. The product of 15 digits is nearer to them than to others; of 16 it may be
 * the next. */
static int put_quick(double v, FILE *out)
{
	const double size = fabs(v);
	int whole; /* digits before the point */

	if (size == 0 && put_if_equal(v, size, 1, out))
		return 0;
	if (size < 1e-4 || size >= 1e15)
		return 15;
	if (size < 1e9 && put_if_equal(v, size, 6, out))
		return 0;
	whole = (int)floor(log10(size)) + 1;
	for (int digits = 15; digits <= 16; digits++)
		if (digits > whole && put_if_equal(v, size, digits - whole, out))
			return 0;
	return size * pow(10, 16 - whole) < EXACT - 2 ? 17 : 16;
}

void json__put_number(double v, FILE *out)
{
	char number[40];
	int digits;

	if (!(fabs(v) < 1.7e308)) {
		fputs("null", out);
		return;
	}
	v += 0.0; /* -0 is 0 */
	digits = put_quick(v, out);
	if (!digits)
		return;
	for (; digits <= 17; digits++) {
		snprintf(number, sizeof(number), "%.*g", digits, v);
		if (digits == 17 || strtod(number, NULL) == v)
			break;
	}
	fputs(number, out);
	/* it stays a real number to other readers, too */
	if (!strpbrk(number, ".e"))
		fputs(".0", out);
}

/* Whether it is what JSON has, but for the quotes around it. */
static bool is_plain(const char *s)
{
	while (*s >= ' ' && *s <= '~' && *s != '"' && *s != '\\')
		s++;
	return !*s;
}

void json__put_text(const char *s, FILE *out)
{
	json_t *j;

	if (!s) {
		fputs("null", out);
	} else if (is_plain(s)) {
		putc_unlocked('"', out);
		fputs_unlocked(s, out);
		putc_unlocked('"', out);
	} else {
		j = json__text(s);
		json__dump(j, out, JSON_ENCODE_ANY);
		json_decref(j);
	}
}

void json__set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

double json__number_of(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *json__text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

int json__dump(const json_t *j, FILE *out, size_t flags)
{
	char *text = json_dumps(j, flags | JSON_ENSURE_ASCII);
	bool in_string = false;
	size_t n;

	if (!text)
		return -1;
	for (const char *p = text; *p; p += n) {
		n = in_string ? 0 : strspn(p, "+-.0123456789eE");
		if (n && strcspn(p, ".eE") < n && strchr("-0123456789", *p)) {
			json__put_number(strtod(p, NULL), out);
			continue;
		}
		n = n ? n : in_string && *p == '\\' && p[1] ? 2 : 1;
		in_string ^= *p == '"';
		if (n == 1)
			n += strcspn(p + 1, in_string ? "\"\\" : "\"+-0123456789");
		fwrite(p, 1, n, out);
	}
	free(text);
	return ferror(out) ? -1 : 0;
}

void json__set_numbers(json_t *object, const struct json_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json__set(object, pairs[i].key, json__number(pairs[i].v));
}

int json__print(json_t *j, FILE *out, size_t flags)
{
	int err = !j ? -ENOMEM : json__dump(j, out, flags) || fputc('\n', out) == EOF ? -EIO : 0;

	json_decref(j);
	return err;
}
