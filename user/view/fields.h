/* SPDX-License-Identifier: GPL-2.0-only */
/* Names from files for a terminal, names and numbers as values of JSON. */
#ifndef JP_VIEW_FIELDS_H
#define JP_VIEW_FIELDS_H

#include "base/outbuf.h"

/* What does not print comes as \xNN. */
void text__name(struct outbuf *o, const char *name);
void json__put_text(struct outbuf *o, const char *text);
/* Digits that read back as the same number; null if v is not finite. */
void json__put_number(struct outbuf *o, double v);

#endif
