/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts as cells of CSV. */
#ifndef JP_BASE_CSV_H
#define JP_BASE_CSV_H

#include <stdio.h>

#include <jansson.h>

#include "base/outbuf.h"

/*
 * Writes s as one cell, in double quotes where it needs them. Invisible characters
 * (utf8__visible()) except ends of lines become \xNN. A single quote comes first where a
 * spreadsheet would compute the text, which then begins with = + - or @ and is no number (OWASP,
 * "CSV Injection").
 */
void csv__put(struct outbuf *o, const char *s);
void csv__print(FILE *out, const char *s);
/* Writes a list of objects with the same keys, which are the head; null is empty, a list in a row
 * one cell: "a 3; b 1". Nothing is written where there are no rows. */
void csv__print_rows(FILE *out, const json_t *rows);

#endif
