/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay_addresses N: what the fuzzer of addresses does, without it: N inputs by chance, the same
 * ones every time, made of pieces that addresses have and of any bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/addresses.h"

#define SIZE 5000

static const char *const pieces[] = {
	"/",	  "/jobs",    "/job/42",  ".json",     ".csv",	    "..",      "%2e%2e",
	"%2F",	  "%00",      "%",	  "%4",	       "?",	    "&",       "=",
	"user=",  "since=7d", "sort=",	  "%27",       "%3Cb",	    "+",       "%E2%80%AE",
	"%C3%A4", "%FF",      "\xc3\xa4", "\xff",      "#",	    ";",       "\\",
	"a",	  "ann",      "Z9",	  "localhost", "127.0.0.1", "[::1]",   ":80",
	"@",	  " ",	      "-",	  "_",	       "all&all",   "x=1&x=2",
};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t make_input(uint8_t *data, uint64_t *state)
{
	uint64_t v = next(state);
	unsigned n = v % 64 ? (unsigned)(v >> 8) % 12 : (unsigned)(v >> 8) % 900;
	size_t at = 0;

	data[at++] = (uint8_t)v;
	if (v >> 60)
		data[at++] = '/';
	while (n--) {
		const char *piece;
		size_t len;

		v = next(state);
		piece = pieces[(v >> 8) % (sizeof(pieces) / sizeof(*pieces))];
		len = strlen(piece);
		if (at + len >= SIZE)
			break;
		if (v % 16)
			memcpy(data + at, piece, len);
		else
			data[at] = (uint8_t)(v >> 32), len = 1;
		at += len;
	}
	return at;
}

int main(int argc, char **argv)
{
	static uint8_t data[SIZE];
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, taken = 0;
	uint64_t state = 25;

	for (unsigned long i = 0; i < n; i++)
		taken += addresses__fuzz(data, make_input(data, &state));
	printf("%lu inputs, %lu taken\n", n, taken);
	return !n;
}
