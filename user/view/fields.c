/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for a terminal, names and numbers as values of JSON. */
#include "view/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void text__name(struct outbuf *o, const char *name)
{
	char hex[8];

	for (; *name; name++) {
		unsigned char c = *name;

		if (c >= 0x20 && c < 0x7f)
			outbuf__char(o, (char)c);
		else if (snprintf(hex, sizeof(hex), "\\x%02x", c) > 0)
			outbuf__str(o, hex);
	}
}

void json__put_text(struct outbuf *o, const char *text)
{
	json_t *j = json__text(text);
	char *dump = json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	outbuf__str(o, dump ? dump : "null");
	free(dump);
	json_decref(j);
}

void json__put_number(struct outbuf *o, double v)
{
	char text[32];

	/* as short as reads back the same */
	for (int digits = 15; digits <= 17 && isfinite(v); digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	outbuf__str(o, isfinite(v) ? text : "null");
}
