/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs a frame by leaving out the words that are zero, and unpacks it again. */
#include "journal/zero_suppress.h"

#include <stdbool.h>

#define GROUP 64
#define FEW   8 /* zeros are neighbours: so many are passed over at once */

static bool are_zero(const uint64_t w[FEW])
{
	return !(w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]);
}

size_t zero_suppress__pack(const uint64_t *in, size_t n, uint64_t *out, size_t max)
{
	size_t used = 0, at = 0;

	for (at = 0; at < n; at += GROUP) {
		size_t i, of = n - at < GROUP ? n - at : GROUP, map = used++;
		uint64_t bits = 0;

		if (used + of > max)
			return 0;
		for (i = 0; i < of; i++) {
			if (i % FEW == 0 && of - i >= FEW && are_zero(&in[at + i])) {
				i += FEW - 1;
				continue;
			}
			out[used] = in[at + i];
			bits |= (uint64_t) !!in[at + i] << i;
			used += !!in[at + i];
		}
		out[map] = bits;
	}
	return used;
}

size_t zero_suppress__unpack(const uint64_t *in, size_t len, uint64_t *out, size_t n, size_t *used)
{
	size_t done = 0, at = 0;

	while (done < n && at < len) {
		size_t i, of = n - done < GROUP ? n - done : GROUP;
		uint64_t bits = in[at++];

		if (of < GROUP && bits >> of)
			break;
		for (i = 0; i < of; i++) {
			bool there = bits >> i & 1;

			if (there && at == len)
				goto out;
			out[done++] = there ? in[at++] : 0;
		}
	}
out:
	*used = at;
	return done;
}
