/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of columns, and their names as users write them. */
#ifndef JP_SCHEMA_FAMILY_H
#define JP_SCHEMA_FAMILY_H

#include <stddef.h>
#include <stdio.h>

#include "bpf/abi/family.h"

/* Made from schemas/, in the order of their bits. */
struct family_info {
	enum family family;
	const char *name;
	const char *doc;
	const char *on; /* how the family is switched on */
};
extern const struct family_info family_infos[];
extern const unsigned n_family_infos;

const char *family__name(enum family f);
/* Writes the names of the families, with ", " between, cut at size. */
void family__list(unsigned families, char *buf, size_t size);
/* Parses "all", "deep" (every family), "none" or a comma list of families, series and Slurm's
 * words, in any case, into a mask. FAM_BASE is in every mask except those of "none" and of sensors
 * alone. 0, or -EINVAL with the bad word in bad[badlen]. */
int family__parse(const char *list, unsigned *mask, char *bad, size_t badlen);
#define FAMILY_WORDS_SIZE 1024
/* All words that family__parse() takes, with ", " between, cut at size. */
void family__words(char *buf, size_t size);
/* Prints the words of family__words(), with a space after each. */
void family__print_words(FILE *out);
/* The most similar word of family__parse(), or NULL. */
const char *family__nearest(const char *word);

#endif
