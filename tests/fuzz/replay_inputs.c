/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay_NAME N FILE...: what the fuzzer of that name does, without it: each file as it is, and N
 * damaged copies of it, the same ones every time. Those in a directory "found" need not be taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"

#define SIZE 20000

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Up to eight places are changed, cut out or written twice; the first byte stays. */
static size_t damage(uint8_t *data, size_t size, uint64_t *state)
{
	static const uint8_t bytes[] = {0, '\n', '=', '[', ',', '-', '/', '9', 0xff, ' ', '%', '"'};

	for (unsigned n = 1 + next(state) % 8; n && size > 2; n--) {
		uint64_t v = next(state);
		size_t at = 1 + (v >> 8) % (size - 1), len = 1 + (v >> 40) % 12;

		len = len < size - at ? len : size - at;
		if (v % 4 == 0) {
			memmove(data + at, data + at + len, size - at - len);
			size -= len;
		} else if (v % 4 == 1 && size + len < SIZE) {
			memmove(data + at + len, data + at, size - at);
			size += len;
		} else {
			data[at] = v & 16 ? bytes[(v >> 56) % sizeof(bytes)] : (uint8_t)(v >> 56);
		}
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t file[SIZE], data[SIZE];
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, taken = 0;
	uint64_t state = 25;

	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t size = f ? fread(file, 1, SIZE, f) : 0;

		if (f)
			fclose(f);
		if (!input__fuzz(file, size) && !strstr(argv[i], "/found/")) {
			printf("%s: is not taken as it is\n", argv[i]);
			return 1;
		}
		for (unsigned long k = 0; k < n; k++) {
			memcpy(data, file, size);
			taken += input__fuzz(data, damage(data, size, &state));
		}
	}
	printf("%lu inputs, %lu taken\n", n * (unsigned long)(argc - 2), taken);
	return !n;
}
