/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reduction as a table for people, and as JSON. */
#ifndef JP_VIEW_REDUCE_REDUCE_PRINT_H
#define JP_VIEW_REDUCE_REDUCE_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/reduction/reduction.h"

/* r was ordered. */
void reduce_print__text(const struct reduction *r, FILE *out);
/* NULL: no memory. */
json_t *reduce_print__json(const struct reduction *r);
/* The parts of that object about what the reduction covers, and what it cost. */
json_t *reduce_print__about(const struct reduction *r);
/* The last line of the text. */
void reduce_print__coverage(const struct reduction *r, FILE *out);

#endif
