// SPDX-License-Identifier: GPL-2.0-or-later
/* Digests of bytes: sums of products, to which tables, types and names are added. */
#include <string.h>

#include "hdf5/digest.h"

static const uint64_t odd[] = {0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull,
			       0x589965cc75374cc3ull};

/* 16 bytes into each of four sums: a multiplication takes as long as four that need not wait for
 * each other. */
#define LANES_BYTES 64

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t word(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static uint64_t add_lanes(uint64_t digest, const uint8_t *p, size_t rounds)
{
	uint64_t a = digest ^ odd[0], b = digest ^ odd[1], c = digest ^ odd[2], d = digest ^ odd[3];

	for (; rounds; rounds--, p += LANES_BYTES) {
		a = mix(word(p) ^ odd[0], word(p + 8) ^ a);
		b = mix(word(p + 16) ^ odd[1], word(p + 24) ^ b);
		c = mix(word(p + 32) ^ odd[2], word(p + 40) ^ c);
		d = mix(word(p + 48) ^ odd[3], word(p + 56) ^ d);
	}
	return mix(a ^ odd[1], b ^ odd[2]) ^ mix(c ^ odd[3], d);
}

uint64_t digest__add(uint64_t digest, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t w[2] = {0, 0};

	digest ^= n * 0x9e3779b97f4a7c15ull;
	if (n >= 4 * LANES_BYTES) {
		digest = add_lanes(digest, p, n / LANES_BYTES);
		p += n / LANES_BYTES * LANES_BYTES;
		n %= LANES_BYTES;
	}
	for (; n > 16; n -= 16, p += 16)
		digest = mix(word(p) ^ odd[0], word(p + 8) ^ digest);
	memcpy(w, p, n);
	return mix(w[0] ^ odd[1], w[1] ^ digest ^ odd[2]);
}

uint64_t digest__text(uint64_t digest, const char *text)
{
	return digest__add(digest, text, strlen(text));
}
