/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a verb's text goes: a file, or standard output. */
#ifndef JP_CMD_OUTPUT_H
#define JP_CMD_OUTPUT_H

#include <stdbool.h>

#include "base/outbuf.h"

struct output {
	struct outbuf text;
	const char *path; /* NULL: standard output */
};

/* path: NULL or "-" is standard output; a file is made anew. 0 or -errno, nothing is said. */
int output__open(struct output *o, const char *path);
/* Removes a regular file unless it is to be kept. The first failure, -errno. */
int output__close(struct output *o, bool keep);

/* A name from a file as one field of CSV: what does not print comes as \xNN, quoted if need be. */
void output__csv_name(struct outbuf *o, const char *name);
void output__json_text(struct outbuf *o, const char *text);
/* Digits that read back as the same number; null for what is none. */
void output__json_number(struct outbuf *o, double v);

#endif
