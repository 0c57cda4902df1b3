/* SPDX-License-Identifier: GPL-2.0-only */
/* What the numbers in the table Marks stand for: attributes of the node. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobfile/extract_internal.h"

#define MARKS_MAX 4096

bool extract__is_marks(const struct extraction *x, const char *column)
{
	return !x->opt->stock && !x->opt->totals && !strcmp(x->series, "Marks") &&
	       !strcmp(column, "Mark");
}

void extract__forget_marks(struct extraction *x)
{
	for (unsigned i = 0; i < x->marks.n; i++)
		free(x->marks.v[i]);
	free(x->marks.v);
	x->marks = (struct text_names){0};
}

/* They are numbered from 1. */
int extract__load_marks(struct extraction *x, const struct reader_node *n)
{
	struct reader_attr a;
	char name[32];
	int err = 0;

	extract__forget_marks(x);
	if (!extract__is_marks(x, "Mark"))
		return 0;
	x->marks.v = calloc(MARKS_MAX, sizeof(*x->marks.v));
	if (!x->marks.v)
		return -ENOMEM;
	while (!err && x->marks.n < MARKS_MAX) {
		snprintf(name, sizeof(name), "Mark %u", x->marks.n + 1);
		err = reader__attr(n, name, &a);
		if (!err)
			x->marks.v[x->marks.n++] = a.type == ATTR_STR ? a.str : NULL;
	}
	return err == -ENOMEM ? err : 0;
}
