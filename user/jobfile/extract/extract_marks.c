/* SPDX-License-Identifier: GPL-2.0-only */
/* What the numbers in the table Marks stand for: attributes of the node. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobfile/extract/extract_internal.h"

#define MARKS_MAX 4096

bool extract__is_marks(const struct extraction *x, const char *column)
{
	return !x->opt->stock && !x->opt->totals && !strcmp(x->series, "Marks") &&
	       !strcmp(column, "Mark");
}

/* Marks are numbered from 1. */
int extract__load_marks(struct extraction *x, const struct reader_node *n)
{
	struct reader_attr a;
	char name[32];
	int err = 0;

	string_list__free(&x->marks);
	if (!extract__is_marks(x, "Mark"))
		return 0;
	while (!err && x->marks.n < MARKS_MAX) {
		snprintf(name, sizeof(name), "Mark %u", x->marks.n + 1);
		err = reader__attr(n, name, &a);
		if (!err)
			err = string_list__take(&x->marks, a.type == ATTR_STR ? a.str : strdup(""));
	}
	return err == -ENOMEM ? err : 0;
}
