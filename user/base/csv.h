/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts as cells of CSV. */
#ifndef JP_BASE_CSV_H
#define JP_BASE_CSV_H

#include <stdio.h>

#include "base/outbuf.h"

/*
 * Writes s as one cell, in double quotes where it needs them. Invisible characters
 * (utf8__visible()) except ends of lines become \xNN. A single quote comes first where a
 * spreadsheet would compute the text, which then begins with = + - or @ and is no number (OWASP,
 * "CSV Injection").
 */
void csv__put(struct outbuf *o, const char *s);
void csv__print(FILE *out, const char *s);

#endif
