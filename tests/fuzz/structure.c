/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libFuzzer's mutations by turns with ours. */
#include <string.h>

#include "tests/fuzz/h5mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	if (seed % 8)
		return h5mutate(data, size, seed);
	size = LLVMFuzzerMutate(data, size, max);
	h5mutate__checksums(data, size);
	return size;
}
