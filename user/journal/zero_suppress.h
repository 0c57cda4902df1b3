/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs words without the zeros. For each 64 words there is a map, with a bit for each word that is
 * not 0 (the lowest bit is the first word), and then those words. Most cells of a sample are zeros,
 * and so are most bytes of a J_STATE.
 */
#ifndef JP_JOURNAL_ZERO_SUPPRESS_H
#define JP_JOURNAL_ZERO_SUPPRESS_H

#include <stddef.h>
#include <stdint.h>

/* Packs n words; out has room for max. Returns the number of words used; 0: they do not fit. */
size_t zero_suppress__pack(const uint64_t *in, size_t n, uint64_t *out, size_t max);

/*
 * Unpacks at most n words from len packed ones, and returns how many; *used is how many of the
 * packed words they took. Where it returns fewer than n, the packed words were too few, and *used
 * is len; or a map has bits beyond n, and the words of that map must not be used. out has room for
 * n.
 */
size_t zero_suppress__unpack(const uint64_t *in, size_t len, uint64_t *out, size_t n, size_t *used);

#endif
