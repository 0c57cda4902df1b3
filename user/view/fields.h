/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and numbers from files as fields of CSV and JSON. */
#ifndef JP_VIEW_FIELDS_H
#define JP_VIEW_FIELDS_H

#include "base/outbuf.h"

/* One field of CSV: what does not print comes as \xNN, quoted if need be. */
void csv__name(struct outbuf *o, const char *name);
void json__put_text(struct outbuf *o, const char *text);
/* Digits that read back as the same number; null if v is not finite. */
void json__put_number(struct outbuf *o, double v);

#endif
