/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzzers do with a file beside reading it: what the tools for job files do. */
#ifndef JP_TESTS_FUZZ_TOOLS_H
#define JP_TESTS_FUZZ_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Extraction in all its forms, items, the list of contents; in this process. */
void tools__read(const char *path, const struct model_file *f);

/* The report on a file, as page and as JSON, in this process; and its job compared with itself. */
void tools__report(const char *path);
struct model_job;
void tools__compare(const struct model_job *j);

/* Some columns over time, in all forms. */
void tools__plot(const struct model_file *f);

/*
 * Merges a file, as r has it open, under a name that suits what it holds, together with a sound
 * one. First it is looked through as a merge's readers do, in this process; if that ends well, a
 * whole merge is made in another one, of one in four files. What a merge promises is looked at
 * afterwards; where it is not so, the process is aborted.
 */
void tools__merge(const struct reader *r, const uint8_t *data, size_t size);

#endif
