/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_TESTS_FUZZ_ADDRESSES_H
#define JP_TESTS_FUZZ_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the bytes as an address, the name of a user or that of a host, by the first one; ends the
 * process where what comes out of it is not as http/request.h says. Returns whether it was taken.
 */
bool addresses__fuzz(const uint8_t *data, size_t size);

#endif
