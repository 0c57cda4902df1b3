/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pseudonym is SipHash-2-4 (Aumasson and Bernstein, 2012) of the text, under a key. */
#include "index/pseudonym.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int pseudonyms__begin(struct pseudonyms *p)
{
	return getrandom(p->key, sizeof(p->key), 0) == sizeof(p->key) ? 0 : -EIO;
}

static uint64_t rotated(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void turn(uint64_t v[static 4], unsigned rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] = rotated(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[2] = rotated(v[2], 32);
	}
}

/* Hashes the byte `first` and the text after it. */
static uint64_t siphash(const uint64_t key[static 2], char first, const char *text)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
	const size_t len = strlen(text) + 1;
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++) {
		word |= (uint64_t)(uint8_t)(i ? text[i - 1] : first) << i % 8 * 8;
		if (i % 8 != 7)
			continue;
		v[3] ^= word;
		turn(v, 2);
		v[0] ^= word;
		word = 0;
	}
	word |= (uint64_t)len << 56;
	v[3] ^= word;
	turn(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	turn(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void pseudonyms__of(const struct pseudonyms *p, char kind, const char *text,
		    char to[static PSEUDONYM_SIZE])
{
	uint64_t h = siphash(p->key, kind, text);

	*to++ = kind;
	/* Letters only: names of jobs lose their digits where jobs are compared. */
	for (unsigned i = 0; i < 16; i++, h >>= 4)
		*to++ = (char)('a' + (h & 15));
	*to = '\0';
}
