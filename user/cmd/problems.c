/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/problems.h"

#include <errno.h>

#include "base/log.h"
#include "store/reader.h"
#include "job/stepname.h"

#define NAMED_MAX 10u /* a job may have thousands of nodes */

void problems__add(void *ctx, const char *step, const char *node, const char *table, int err)
{
	struct problems *p = ctx;

	if (err == -ENODATA)
		p->lacking++;
	else
		p->damaged++;
	if (p->lacking + p->damaged > NAMED_MAX)
		return;
	log_warn("%s: step %s, node %s%s%s%s%s: %s", p->path, *step ? stepname__human(step) : "?",
		 node, p->series || table ? ", " : "", p->series ? p->series : "",
		 p->series && table ? "/" : "", table ? table : "",
		 err == -ENODATA ? "no such series or column; left out" : reader__strerror(err));
}

void problems__end(const struct problems *p)
{
	unsigned n = p->lacking + p->damaged;

	if (n > NAMED_MAX)
		log_warn("%s: and %u more", p->path, n - NAMED_MAX);
}
