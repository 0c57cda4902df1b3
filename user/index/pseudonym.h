/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces names of users, projects and jobs by words that reveal nothing without the key. */
#ifndef JP_INDEX_PSEUDONYM_H
#define JP_INDEX_PSEUDONYM_H

#include <stdint.h>

struct pseudonyms {
	uint64_t key[2];
};

#define PSEUDONYM_SIZE 18

/* Makes a random key, which nobody can make again. 0 or -errno. */
int pseudonyms__begin(struct pseudonyms *p);
/* Writes the word for a text: `kind` and 16 letters. Equal texts of one kind have equal words under
 * one key. */
void pseudonyms__of(const struct pseudonyms *p, char kind, const char *text,
		    char to[static PSEUDONYM_SIZE]);

#endif
