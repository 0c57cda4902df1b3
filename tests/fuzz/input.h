/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An input of a fuzzer that has several kinds: its first byte says which one. */
#ifndef JP_TESTS_FUZZ_INPUT_H
#define JP_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text ends with 0, which len does not count; it may have others. */
struct input {
	const char *text;
	size_t len;
};

/* What one fuzzer knows; the last one is {0}. Each says whether an input was taken. */
struct input_kind {
	char begins;
	bool (*try)(const struct input *in);
};
extern const struct input_kind input_kinds[];

/* Takes the bytes behind the first one as that one says: tests/data has some of each. Ends the
 * process where what comes out of it cannot be. Returns whether it was taken. */
bool input__fuzz(const uint8_t *data, size_t size);

void input__must(bool holds);
/* A file in memory with these bytes, always the same descriptor, and its name. */
int input__file(const struct input *in);
const char *input__path(const struct input *in);

#endif
