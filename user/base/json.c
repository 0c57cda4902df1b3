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

json_t *json__number(double v)
{
	/* The largest doubles are not when they have been rounded to 15 digits; -0 is 0. */
	return fabs(v) < 1.7e308 ? json_real(v + 0.0) : json_null();
}

json_t *json__whole(double v)
{
	/* doubles have all integers up to there */
	return fabs(v) <= 9007199254740992.0 && v == trunc(v) ? json_integer((json_int_t)v)
							      : json__number(v);
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

/* Numbers with up to 6 decimals, which most are, in a fifth of the time of printf. */
static bool put_short(double v, FILE *out)
{
	const double scaled = fabs(v) * 1e6;
	char text[32], *end = text;
	int64_t n;

	if (!(scaled == 0 || scaled >= 100) || scaled >= 1e15)
		return false;
	n = (int64_t)nearbyint(scaled);
	if ((double)n / 1e6 != fabs(v))
		return false;
	for (int i = 0; i < 6 || n; i++, n /= 10) {
		*end++ = (char)('0' + n % 10);
		if (i == 5)
			*end++ = '.';
	}
	if (end[-1] == '.')
		*end++ = '0';
	if (v < 0)
		*end++ = '-';
	/* from behind, without zeros at the end, but for one after the point */
	n = (int64_t)strspn(text, "0");
	n -= n == 6;
	while (end > text + n)
		putc_unlocked(*--end, out);
	return true;
}

void json__put_number(double v, FILE *out)
{
	char number[40];

	if (!(fabs(v) < 1.7e308)) {
		fputs("null", out);
		return;
	}
	v += 0.0; /* -0 is 0 */
	if (put_short(v, out))
		return;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(number, sizeof(number), "%.*g", digits, v);
		if (digits == 17 || strtod(number, NULL) == v)
			break;
	}
	fputs(number, out);
	/* it stays a real number to other readers, too */
	if (!strpbrk(number, ".e"))
		fputs(".0", out);
}

void json__put_text(const char *s, FILE *out)
{
	static const char plain[] =
		" !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`"
		"abcdefghijklmnopqrstuvwxyz{|}~";
	json_t *j;

	if (!s) {
		fputs("null", out);
	} else if (!s[strspn(s, plain)]) {
		putc_unlocked('"', out);
		fputs(s, out);
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
