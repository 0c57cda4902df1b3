/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words without the zeros: of up to 64 words, a map with a bit for each that is not 0 (the first is
 * the lowest), then those that are not. Most of a sample's cells and of what is kept for a restart
 * are zeros.
 */
#ifndef JP_JOURNAL_ZERO_SUPPRESS_H
#define JP_JOURNAL_ZERO_SUPPRESS_H

#include <stddef.h>
#include <stdint.h>

/* Packs n words; out has room for max. Words used; 0: they do not fit. */
size_t zero_suppress__pack(const uint64_t *in, size_t n, uint64_t *out, size_t max);

/*
 * The words from where that packed words lead to, at most n; *used is how many of the packed ones
 * that took. Fewer than n: the packed words are too few, and *used is all of them; or a map has
 * bits beyond n, and what came out of that map is not to be trusted. out has room for n.
 */
size_t zero_suppress__unpack(const uint64_t *in, size_t len, uint64_t *out, size_t n, size_t *used);

#endif
