/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of a file that others wrote: a child reads and writes, this process owns what it writes. */
#ifndef JP_CMD_JOBPROF_CHILD_OUTPUT_H
#define JP_CMD_JOBPROF_CHILD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "pool/pool.h"

/*
 * Runs fn(arg, fd, &keep) in a child (pool/pool.h), fd being the output at path as
 * output_file__open has it, from being what is read, and lets the output take its place if the
 * child ended well enough to set keep and the output is whole. Returns what fn returned; 1 where
 * the child died or the output cannot be closed, said; -errno: the output cannot be made, said.
 */
int child_output__write(const char *path, const char *from, const struct pool_limits *l,
			int (*fn)(void *arg, int fd, bool *keep), void *arg);
/* fn(arg, out), out being a stream to a copy of fd, which is closed then. 0, -errno of it or of
 * fn. */
int child_output__stream(int fd, int (*fn)(void *arg, FILE *out), void *arg);

#endif
