/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and numbers as fields of CSV and JSON. */
#include "view/fields.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void csv__name(struct outbuf *o, const char *name)
{
	bool quote = strpbrk(name, ",\"") != NULL;
	char hex[8];

	if (quote)
		outbuf__char(o, '"');
	for (; *name; name++) {
		unsigned char c = *name;

		if (c == '"')
			outbuf__str(o, "\"\"");
		else if (c >= 0x20 && c < 0x7f)
			outbuf__char(o, (char)c);
		else if (snprintf(hex, sizeof(hex), "\\x%02x", c) > 0)
			outbuf__str(o, hex);
	}
	if (quote)
		outbuf__char(o, '"');
}

void json__put_text(struct outbuf *o, const char *text)
{
	json_t *j = json__text(text);
	char *dump = json_dumps(j, JSON_ENCODE_ANY);

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
