/* SPDX-License-Identifier: GPL-2.0-only */
/* Values for jansson that are always valid JSON. */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/json.h"

json_t *json__number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json__text(const char *s)
{
	json_t *j = json_string(s);
	char *text = NULL;
	size_t len;
	FILE *f;

	if (j)
		return j;
	f = open_memstream(&text, &len);
	if (!f)
		return json_null();
	print__escaped(f, s);
	fclose(f);
	j = json_string(text);
	free(text);
	return j ? j : json_null();
}
