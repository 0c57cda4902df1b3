/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output made from a file that others wrote: a child reads and writes, and this process puts the
 * output in its place. */
#ifndef JP_CMD_JOBPROF_CHILD_OUTPUT_H
#define JP_CMD_JOBPROF_CHILD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "pool/pool.h"

/*
 * Runs fn(arg, fd, &keep) in a child (pool/pool.h). fd is the output at path, as
 * output_file__open() makes it; `from` is the input. The output takes its place if the child has
 * set keep and the output is complete. Returns what fn returned; 1: the child died, or the output
 * cannot be closed; -errno: the output cannot be made. Errors are logged.
 */
int child_output__write(const char *path, const char *from, const struct pool_limits *l,
			int (*fn)(void *arg, int fd, bool *keep), void *arg);
/* Calls fn(arg, out) with a stream to a duplicate of fd, which is closed afterwards. 0; -errno of
 * the stream, or the result of fn. */
int child_output__stream(int fd, int (*fn)(void *arg, FILE *out), void *arg);

#endif
