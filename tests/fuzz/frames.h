/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_TESTS_FUZZ_FRAMES_H
#define JP_TESTS_FUZZ_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* Anything as a copy of a stack, an expression for it, and a file. True: the expression has a
 * value. Aborts if that is not where it says. */
int frames__fuzz(const uint8_t *data, size_t size);

#endif
