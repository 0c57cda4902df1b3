/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts as cells of CSV. */
#ifndef JP_BASE_CSV_H
#define JP_BASE_CSV_H

#include <stdio.h>

#include "base/outbuf.h"

/*
 * s as one cell: in double quotes where it needs them; what nobody sees (utf8__visible()), but for
 * ends of lines, as \xNN; and behind a single quote where a spreadsheet would compute it, since it
 * begins with = + - or @ and is no number (OWASP, "CSV Injection").
 */
void csv__put(struct outbuf *o, const char *s);
void csv__print(FILE *out, const char *s);

#endif
