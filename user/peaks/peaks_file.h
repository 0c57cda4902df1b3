/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of the file of peaks: what they mean, and how new ones replace them. */
#ifndef JP_PEAKS_PEAKS_FILE_H
#define JP_PEAKS_PEAKS_FILE_H

#include <stdio.h>

#include "peaks/peaks.h"

#define PEAKS_NODES    "Nodes" /* the key that begins a section */
#define PEAKS_LIST_MAX 4096u   /* bytes of its value */

/* Whether the list of a section names the node: 1 or 0; -EINVAL: it is no list, the reason is in
 * err; -ENOMEM. */
int peaks__list_has(const char *list, const char *node, char *err, unsigned errlen);
/* "Key=Value\n", nothing if the peak is unknown. */
void peak__print(enum peak_kind kind, const struct peak *p, FILE *f);
/*
 * Copies a file of peaks, with the peaks of p that are known in the section of exactly this list,
 * which is appended where there is none. All other lines stay as they are. from NULL: there is no
 * file yet. note: a line of text that is put before the peaks as a comment. 0, -ENOMEM or -EIO.
 */
int peaks__replace(FILE *from, FILE *to, const char *list, const struct peaks *p, const char *note);

#endif
