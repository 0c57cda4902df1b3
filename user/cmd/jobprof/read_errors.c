/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects what cannot be read of a file, and prints the first of it. */
#include "cmd/jobprof/read_errors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model/model.h"
#include "identity/stepname.h"

static void name(struct read_errors *p, bool hold, const char *text)
{
	char *copy = hold ? strdup(text) : NULL;

	if (copy)
		p->held[p->nheld++] = copy;
	else
		log_warn("%s", text);
}

void read_errors__add(void *ctx, const char *step, const char *node, const char *table, int err)
{
	struct read_errors *p = ctx;
	bool lacks = err == -ENODATA;
	char text[1024];

	if (lacks)
		p->lacking++;
	else
		p->damaged++;
	if (p->lacking + p->damaged > READ_ERRORS_NAMED)
		return;
	snprintf(text, sizeof(text), "%s: step %s, node %s%s%s%s%s: %s", p->path,
		 *step ? stepname__human(step) : "?", node, p->series || table ? ", " : "",
		 p->series ? p->series : "", p->series && table ? "/" : "", table ? table : "",
		 lacks ? "no such series or column; left out" : model_file__strerror(err));
	name(p, p->hold && lacks, text);
}

void read_errors__end(struct read_errors *p, bool whole)
{
	unsigned n = p->lacking + p->damaged;

	for (unsigned i = 0; i < p->nheld; i++) {
		if (!whole)
			log_warn("%s", p->held[i]);
		free(p->held[i]);
	}
	p->nheld = 0;
	if (n > READ_ERRORS_NAMED && !whole)
		log_warn("%s: and %u more", p->path, n - READ_ERRORS_NAMED);
}
