/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folded region as text for a terminal, as SVG, as JSON, and for its page. */
#ifndef JP_VIEW_FOLD_VIEW_H
#define JP_VIEW_FOLD_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/fold/folded.h"
#include "jobfile/store.h"

/* Writes the name and place of code: "the program + 0x1200", "main", or "main (at 0x1200)" where
 * the code includes the block. */
void fold_view__code(const struct folded *f, uint64_t code, char *text, size_t size);
#define FOLD_TEXT 512

/* The counter's name; NULL: c is the counter of the chosen event, and there is none. */
const char *fold_view__counter(const struct folded *f, enum point_counter c);
/* Why a counter is not folded; NULL: it is. */
const char *fold_view__missing(const struct folded *f, enum point_counter c);
/* "good", "weak" */
const char *fold_view__validity(const struct folded *f, char *why, size_t size);

void fold_text__print(const struct folded *f, FILE *out, unsigned width, bool utf8);
void fold_svg__print(const struct folded *f, FILE *out);
/* curves: also the values of the curves. NULL: no memory. */
json_t *fold_json__of(const struct folded *f, bool curves);
/* What the page draws: docs/report-json.md. title: program and job; "": not known. */
json_t *fold_json__page(const struct folded *f, const char *title);

/* ---- jobprof fold --store: a folded region goes into the job file */

/* What is stored: the group /analysis/fold, and the table /analysis/fold_curve. */
struct fold_stored {
	json_t *figures; /* NULL: no memory */
	struct store_table curve;
};
struct fold_stored fold_store__of(const struct folded *f);
void fold_stored__free(const struct fold_stored *s);

/* The process that reads the profile must not write to it. So it writes the region to fd by
 * fold_store__put(); another process reads fd by fold_store__write(), and writes /analysis/fold and
 * /analysis/fold_curve of the job file. 0; 1, logged. */
int fold_store__put(const struct folded *f, int fd);
int fold_store__write(int fd, const char *path);

#endif
