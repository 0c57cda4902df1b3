/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_TESTS_FUZZ_TEXTS_H
#define JP_TESTS_FUZZ_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the bytes behind the first one as that one says: tests/data/texts has one of each. Ends the
 * process where what comes out of it cannot be. Returns whether it was taken. */
bool texts__fuzz(const uint8_t *data, size_t size);

#endif
