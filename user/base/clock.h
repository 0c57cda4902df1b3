/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_BASE_CLOCK_H
#define JP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull

uint64_t clock__boot_ns(void); /* since boot, suspend included: what BPF calls boot_ns */
uint64_t clock__real_ns(void); /* unix time: may step */
uint64_t clock__mono_ns(void); /* since boot, without suspend */

/* Keeps in *since the instant at which a state began: it is set to `now` when the state begins,
 * stays while the state holds, and becomes 0 when it ends. */
void clock__since(uint64_t *since, bool holds, uint64_t now);

/*
 * The first instant after boot_now, on the boot clock, at which real0 + (instant - boot0) is a
 * multiple of interval_ns: rows of all nodes fall on the same wall-clock instants, and a step of
 * the wall clock in between does not disturb them. UINT64_MAX if interval_ns is 0 (never).
 */
uint64_t clock__next_aligned(uint64_t boot_now, uint64_t boot0, uint64_t real0,
			     uint64_t interval_ns);

#endif
