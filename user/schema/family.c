// SPDX-License-Identifier: GPL-2.0-or-later
/* The families of columns, and the words by which users ask for them. */
#include "schema/family.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

const struct family_info family_infos[] = {
#define FAMILY(bit, name_, doc_, on_) {.family = FAM_##bit, .name = name_, .doc = doc_, .on = on_},
#include "schemas/families.def"
#undef FAMILY
};
const unsigned n_family_infos = sizeof(family_infos) / sizeof(family_infos[0]);

/* Slurm's word "task" asks for the table, with all families that cost nothing more. */
#define FAM_TABLES (FAM_BASE | FAM_SCHED | FAM_MEMORY | FAM_FILE | FAM_SELF | FAM_CGROUP)

/* Families come first: family__name() looks for an exact bit. */
static const struct {
	const char *word;
	unsigned mask;
} family_words[] = {
#define FAMILY(bit, word_, doc, on) {.word = word_, .mask = FAM_##bit},
#include "schemas/families.def"
#undef FAMILY
	/* clang-format off */
	{"all", FAM_ALL},
	{"deep", FAM_ALL | FAM_STACK | FAM_FOLD | FAM_BURST | FAM_FILES},
	{"none", 0},
	{"task", FAM_TABLES},
	{"tasks", FAM_TABLES},
	{"step", FAM_TABLES},
	{"lustre", FAM_FILESYSTEM},
	/* The name of another series asks for the families of its columns. */
#define SERIES(name_, ...) {#name_, (0
#define COL(name_, type_, unit_, kind_, family_, ...) | FAM_##family_
#define SERIES_END ) & ~FAM_BASE},
#include "schemas/series.def"
	/* clang-format on */
};
#define N_WORDS (sizeof(family_words) / sizeof(family_words[0]))

void family__list(unsigned families, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < n_family_infos && n < size; i++)
		if (families & family_infos[i].family)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
					      family_infos[i].name);
}

const char *family__name(enum family f)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (family_words[i].mask == (unsigned)f)
			return family_words[i].word;
	return "?";
}

static int word_mask(const char *word, size_t len, unsigned *mask)
{
	for (size_t i = 0; i < N_WORDS; i++) {
		if (strlen(family_words[i].word) != len ||
		    strncasecmp(family_words[i].word, word, len))
			continue;
		*mask = family_words[i].mask;
		if (*mask == FAM_FOLD)
			*mask |= FAM_SAMPLE | FAM_WAIT;
		if (*mask == FAM_NETWORK) /* Slurm's word for the node's ports, too */
			*mask |= FAM_INTERCONNECT;
		return 0;
	}
	return -EINVAL;
}

int family__parse(const char *list, unsigned *mask, char *bad, size_t badlen)
{
	unsigned sum = 0;

	for (const char *p = list;; p++) {
		unsigned m = 0;
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, ",");
		while (len && (p[len - 1] == ' ' || p[len - 1] == '\t'))
			len--;
		if (word_mask(p, len, &m)) {
			if (badlen)
				snprintf(bad, badlen, "%.*s", (int)len, p);
			return -EINVAL;
		}
		sum |= m;
		p += strcspn(p, ",");
		if (!*p)
			break;
	}
	/* Rows without their time columns would be unreadable; the node's tables have them. */
	*mask = sum & ~FAM_SENSORS ? sum | FAM_BASE : sum;
	return 0;
}

/* Whether an earlier word is the same but for upper and lower case. */
static bool is_repeated(size_t word)
{
	for (size_t i = 0; i < word; i++)
		if (!strcasecmp(family_words[i].word, family_words[word].word))
			return true;
	return false;
}

const char *family__nearest(const char *word)
{
	const char *words[N_WORDS];

	for (size_t i = 0; i < N_WORDS; i++)
		words[i] = family_words[i].word;
	return str__nearest(word, words, N_WORDS);
}

void family__words(char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = 0;
	for (size_t i = 0; i < N_WORDS && at < size; i++)
		if (!is_repeated(i))
			at += snprintf(buf + at, size - at, "%s%s", i ? ", " : "",
				       family_words[i].word);
}

void family__print_words(FILE *out)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (!is_repeated(i))
			fprintf(out, "%s ", family_words[i].word);
}
