// SPDX-License-Identifier: GPL-2.0-or-later
/* The words that all lists of columns share. */
#include <stdio.h>
#include <string.h>

#include "cmd/jobprof/list_man.h"

const char *list__kind(const struct column *c)
{
	static const char *const names[] = {
		[COL_TIME] = "time",
		[COL_GAUGE] = "gauge",
		[COL_DELTA] = "per interval",
		[COL_CUMULATIVE] = "cumulative",
	};

	return names[c->kind];
}

unsigned list__buckets(const struct series *s, unsigned i)
{
	unsigned n = 0;

	while (i + n < s->ncols && s->cols[i + n].how == HOW_BUCKET &&
	       (!n || s->cols[i + n].arg == s->cols[i].arg + (int)n) &&
	       s->cols[i + n].name[0] == s->cols[i].name[0])
		n++;
	return n;
}

struct column list__buckets_as_one(const struct column *first, const struct column *last,
				   char doc[static 160])
{
	struct column c = *first;
	const char *at = strstr(c.doc, "2^0");

	if (at)
		snprintf(doc, 160, "%.*s2^k%s k is the number in the name.", (int)(at - c.doc),
			 c.doc, at + 3);
	else
		snprintf(doc, 160, "%s", c.doc);
	c.doc = doc;
	c.blind = last->blind;
	return c;
}
