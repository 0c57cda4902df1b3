/* SPDX-License-Identifier: GPL-2.0-only */
/* How the tables of jobprof live are written. */
#ifndef JP_CMD_JOBPROF_LIVE_H
#define JP_CMD_JOBPROF_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "client/libjobprof.h"

struct live_out {
	FILE *file;
	bool compact; /* a line per round, where a format has no other end of it */
	char *head;   /* csv: the header printed last */
	void *json;   /* json: the tables of this round */
};

struct live_format {
	const char *name;
	void (*begin)(struct live_out *out);
	void (*table)(struct live_out *out, const struct jobprof_table *t);
	void (*end)(struct live_out *out, bool complete);
};

/* NULL: there is no such format. */
const struct live_format *live_format__find(const char *name);
void live_format__print_names(FILE *out); /* with a space after each */
void live_out__free(struct live_out *out);

#endif
