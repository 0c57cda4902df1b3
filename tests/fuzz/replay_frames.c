/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay_frames N: what the fuzzer of frames does, without it: N inputs by chance, the same ones
 * every time, with operations that are known more often than others. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/frames.h"

#define SIZE 1000

static const uint8_t known[] = {
	DW_OP_breg7, DW_OP_lit0, DW_OP_lit8,  DW_OP_lit15, DW_OP_plus,	      DW_OP_minus,
	DW_OP_and,   DW_OP_or,	 DW_OP_shl,   DW_OP_shr,   DW_OP_ge,	      DW_OP_const8s,
	DW_OP_deref, DW_OP_dup,	 DW_OP_bregx, DW_OP_regx,  DW_OP_plus_uconst, DW_OP_call_frame_cfa};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t make_input(uint8_t *data, uint64_t *state)
{
	const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	size_t at;

	for (at = 0; at < SIZE; at += sizeof(*state)) {
		uint64_t v = next(state);

		memcpy(data + at, &v, sizeof(v));
	}
	/* operations follow 96 bytes, 10 bytes each; few of them more often than many */
	for (at = 96; at + 10 <= SIZE; at += 10)
		if (data[at + 9] % 8)
			data[at] = known[data[at] % sizeof(known)];
	if (data[92] % 4)
		data[92] %= 6;
	if (data[94] % 2)
		memcpy(data, head, sizeof(head));
	return next(state) % (SIZE + 1);
}

int main(int argc, char **argv)
{
	static uint8_t data[SIZE];
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, values = 0;
	uint64_t state = 25;

	for (unsigned long i = 0; i < n; i++) {
		size_t size = make_input(data, &state);

		values += frames__fuzz(data, size);
	}
	printf("%lu inputs, %lu values\n", n, values);
	return !n;
}
