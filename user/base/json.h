/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that jansson refuses (NaN, text that is not UTF-8), and output with short numbers. */
#ifndef JP_BASE_JSON_H
#define JP_BASE_JSON_H

#include <stdio.h>

#include <jansson.h>

/* null for NaN and infinities. */
json_t *json__number(double v);
json_t *json__numbers(const double *v, size_t n);
/* An integer, of a count or a time; a number as it is where it has a fraction or is too large. */
json_t *json__whole(double v);
/* Text that is not UTF-8 comes escaped (base/escape.h); NULL is null. */
json_t *json__text(const char *s);
/* The same, and "" is null, too. */
json_t *json__nonempty(const char *s);
/* json_object_set_new() without its result: when memory is short, the object lacks the value. */
void json__set(json_t *object, const char *key, json_t *value);
/* json__set() of several numbers: JSON_NUMBERS(o, {"wall_s", wall}, {"cpu_s", cpu}). */
struct json_pair {
	const char *key;
	double v;
};
void json__set_numbers(json_t *object, const struct json_pair *pairs, size_t n);
#define JSON_NUMBERS(object, ...)                                           \
	json__set_numbers(object, (const struct json_pair[]){__VA_ARGS__},  \
			  sizeof((const struct json_pair[]){__VA_ARGS__}) / \
				  sizeof(struct json_pair))
/* A number of an object; NaN: it is not known. */
double json__number_of(const json_t *object, const char *key);
/* A text of an object; "?": it is not known. */
const char *json__text_of(const json_t *object, const char *key);
/* Print a number and a text as json__dump() does, for tables that are too long for jansson; NaN and
 * NULL are null. */
void json__put_number(double v, FILE *out);
void json__put_text(const char *s, FILE *out);
/* As json_dumpf(), but numbers are as short as they can be without being read back differently, and
 * all is ASCII without control characters for terminals. 0 or -1. */
int json__dump(const json_t *j, FILE *out, size_t flags);
/* Does what json__dump() does, ends the line and releases j; j NULL: no memory. 0 or -errno. */
int json__print(json_t *j, FILE *out, size_t flags);

#endif
