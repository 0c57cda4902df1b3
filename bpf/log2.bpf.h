/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bucket of a histogram a time belongs to. */
#ifndef JP_LOG2_BPF_H
#define JP_LOG2_BPF_H

#include "bpf/maps.bpf.h"

/* k for a v in [2^k, 2^(k+1)); 0 goes to the first, what is too long to the last. */
static __always_inline u32 log2_bucket(u64 v)
{
	u32 r = 0;

	if (v >> 32) {
		v >>= 32;
		r += 32;
	}
	if (v >> 16) {
		v >>= 16;
		r += 16;
	}
	if (v >> 8) {
		v >>= 8;
		r += 8;
	}
	if (v >> 4) {
		v >>= 4;
		r += 4;
	}
	if (v >> 2) {
		v >>= 2;
		r += 2;
	}
	if (v >> 1)
		r += 1;
	return r < JP_LAT_BUCKETS ? r : JP_LAT_BUCKETS - 1;
}

#endif
