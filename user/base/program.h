/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the programs of one installation, or of one build, find each other. */
#ifndef JP_BASE_PROGRAM_H
#define JP_BASE_PROGRAM_H

#include <stddef.h>

/* The path of one that is installed with this: beside it, or else in a directory relative to its
 * own, there or not. */
void program__find(const char *name, const char *elsewhere, char *buf, size_t len);

#endif
