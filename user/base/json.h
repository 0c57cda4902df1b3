/* SPDX-License-Identifier: GPL-2.0-only */
/* What jansson refuses: numbers that are none, and text that is not UTF-8. */
#ifndef JP_BASE_JSON_H
#define JP_BASE_JSON_H

#include <jansson.h>

/* null for NaN and infinities. */
json_t *json__number(double v);
/* Text that is not UTF-8 comes escaped (base/escape.h). */
json_t *json__text(const char *s);

#endif
