/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An output file that appears under its name only when it is complete. */
#ifndef JP_CMD_JOBPROF_OUTPUT_FILE_H
#define JP_CMD_JOBPROF_OUTPUT_FILE_H

#include <stdbool.h>

struct output_file {
	int fd;
	int dir;    /* descriptor of its directory, for root; else -1 */
	char *name; /* as it was given; NULL: standard output */
	char *path; /* the same, relative to dir */
	char *tmp;  /* a temporary file in the same directory; NULL: it is written in place, because
		       it exists and is no regular file (and is this user's or root's) */
};

/* Opens the output. "-" is standard output. `from` is the input, which is never overwritten;
 * another file is overwritten only if `replaces` is set, as options__overwrites() is for verbs. A
 * link is replaced, not followed; for root, a link of another user in the path is refused. A signal
 * that ends this process before the output is closed removes the temporary file. Only one output
 * may be open at a time. 0 or -errno, logged. */
int output_file__open(struct output_file *o, const char *path, const char *from, bool replaces);
/* keep: the file takes its place; else it is removed. 0 or -errno, logged. */
int output_file__close(struct output_file *o, bool keep);

#endif
