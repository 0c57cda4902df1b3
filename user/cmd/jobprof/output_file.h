/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is there when it is complete, and not before. */
#ifndef JP_CMD_JOBPROF_OUTPUT_FILE_H
#define JP_CMD_JOBPROF_OUTPUT_FILE_H

#include <stdbool.h>

struct output_file {
	int fd;
	int dir;    /* root's: where it is; else -1 */
	char *name; /* as it was given; NULL: standard output */
	char *path; /* the same, by dir */
	char *tmp;  /* beside it; NULL: written in place, since it is no regular file, but one of
		     * this user's or root's */
};

/* "-" is standard output; from is what is read, over which nothing is written; over another file
 * only what replaces it, as options__overwrites() says of verbs. A link is replaced, not followed;
 * one of another user's on root's way to it is refused.
 * Until it is closed, a signal that ends us removes what there is of it. One at a time. 0 or
 * -errno, logged. */
int output_file__open(struct output_file *o, const char *path, const char *from, bool replaces);
/* keep: it takes its place, else nothing is left of it. 0 or -errno, logged. */
int output_file__close(struct output_file *o, bool keep);

#endif
