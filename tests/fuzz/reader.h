/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_TESTS_FUZZ_READER_H
#define JP_TESTS_FUZZ_READER_H

#include <stddef.h>
#include <stdint.h>

/* 0, or the signal of a fault inside of the library. */
int reader__fuzz(const uint8_t *data, size_t size);
/* The same by libFuzzer's name; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
