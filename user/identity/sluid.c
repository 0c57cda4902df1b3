// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts Slurm's SLUIDs between text and number. */
#include "identity/sluid.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static int digit_value(char c)
{
	const char *p;

	c = (char)toupper((unsigned char)c);
	if (c == 'O')
		return 0;
	if (c == 'I' || c == 'L')
		return 1;
	p = c ? strchr(digits, c) : NULL;
	return p ? (int)(p - digits) : -1;
}

int sluid__decode(const char *text, uint64_t *id)
{
	uint64_t n = 0;

	if (strlen(text) != SLUID_LEN || (text[0] != 's' && text[0] != 'S'))
		return -EINVAL;
	for (int i = 1; i < SLUID_LEN; i++) {
		int v = digit_value(text[i]);

		if (v < 0)
			return -EINVAL;
		/* 13 digits hold 65 bits. */
		if (n >> 59)
			return -ERANGE;
		n = n << 5 | (unsigned)v;
	}
	*id = n;
	return 0;
}

void sluid__encode(uint64_t id, char out[SLUID_LEN + 1])
{
	out[SLUID_LEN] = '\0';
	for (int i = SLUID_LEN - 1; i > 0; i--, id >>= 5)
		out[i] = digits[id & 31];
	out[0] = 's';
}
