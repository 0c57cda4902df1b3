// SPDX-License-Identifier: GPL-2.0-or-later
/* A list of texts that grows. */
#include "base/string_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"

int string_list__take(struct string_list *l, char *text)
{
	if (!text || room__grow(&l->v, l->n, 1, sizeof(*l->v))) {
		free(text);
		return -ENOMEM;
	}
	l->v[l->n++] = text;
	return 0;
}

int string_list__append(struct string_list *l, const char *text)
{
	return string_list__take(l, strdup(text));
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void string_list__sort(struct string_list *l, unsigned from)
{
	if (l->n > from)
		qsort(l->v + from, l->n - from, sizeof(*l->v), by_version);
}

void string_list__free(struct string_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct string_list){0};
}
