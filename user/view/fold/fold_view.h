/* SPDX-License-Identifier: GPL-2.0-only */
/* A folded region as text for a terminal, as SVG and as JSON. */
#ifndef JP_VIEW_FOLD_VIEW_H
#define JP_VIEW_FOLD_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/fold/folded.h"

/* Says what it is, and where: "the program + 0x1200", "main", "main (at 0x1200)" where the code has
 * the block, too. */
void fold_view__code(const struct folded *f, uint64_t code, char *text, size_t size);
#define FOLD_TEXT 512

/* The same of a phase, and of one that mostly does not run, what it executes else. */
void fold_view__phase(const struct folded *f, const struct fold_phase *p, char *text, size_t size);

/* The counter's name; NULL: it is the event, and there is none. */
const char *fold_view__counter(const struct folded *f, enum point_counter c);
/* Why a counter is not folded; NULL: it is. */
const char *fold_view__missing(const struct folded *f, enum point_counter c);
/* "good", "weak" */
const char *fold_view__validity(const struct folded *f, char *why, size_t size);

void fold_text__print(const struct folded *f, FILE *out, unsigned width, bool utf8);
void fold_svg__print(const struct folded *f, FILE *out);
/* curves: with the values of the curves, too. NULL: no memory. */
json_t *fold_json__of(const struct folded *f, bool curves);

#endif
