// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts Slurm's bits of --profile to words, and words to bits. */
#include "slurm/profile_mask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schema/family.h"
#include "base/str.h"

bool profile_mask__is_valid(uint32_t mask)
{
	return mask == PROFILE_ALL || mask == PROFILE_NONE || !(mask & ~PROFILE_SERIES);
}

static const struct {
	const char *word;
	uint32_t mask;
} words[] = {
	{"energy", PROFILE_ENERGY},	{"task", PROFILE_TASK},	 {"lustre", PROFILE_LUSTRE},
	{"network", PROFILE_NETWORK},	{"none", PROFILE_NONE},	 {"all", PROFILE_ALL},
	{"filesystem", PROFILE_LUSTRE}, {"tasks", PROFILE_TASK},
};

#define N_BITS	4 /* the first ones have a bit each */
#define N_WORDS (sizeof(words) / sizeof(words[0]))

int profile_mask__print(uint32_t mask, char *buf, size_t size)
{
	size_t at = 0;

	if (!profile_mask__is_valid(mask) || !size)
		return -EINVAL;
	buf[0] = '\0';
	if (mask == PROFILE_ALL || mask == PROFILE_NONE)
		return str__copy(buf, size, mask == PROFILE_ALL ? "all" : "none");
	for (size_t i = 0; i < N_BITS && at < size; i++)
		if (mask & words[i].mask)
			at += snprintf(buf + at, size - at, "%s%s", at ? "," : "", words[i].word);
	return at < size ? 0 : -E2BIG;
}

int profile_mask__parse(const char *list, uint32_t *mask, char *bad, size_t badlen)
{
	unsigned families;
	uint32_t sum = 0;
	int err = family__parse(list, &families, bad, badlen);

	if (err)
		return err;
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, ", \t");
		for (size_t i = 0; i < N_WORDS; i++)
			if (strlen(words[i].word) == len && !strncasecmp(words[i].word, p, len))
				sum |= words[i].mask;
	}
	*mask = sum == PROFILE_ALL     ? sum
		: sum & PROFILE_SERIES ? sum & PROFILE_SERIES
				       : PROFILE_NONE;
	return 0;
}

uint32_t profile_mask__running(uint32_t asked, uint32_t measures)
{
	uint32_t left = asked == PROFILE_NONE ? 0 : asked & PROFILE_SERIES & ~measures;

	return left ? left : PROFILE_NONE;
}
