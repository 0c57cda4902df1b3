/* SPDX-License-Identifier: GPL-2.0-only */
/* Loops of fused multiply-adds for each width of vectors. */
#ifndef JP_PEAKS_FLOPS_H
#define JP_PEAKS_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

struct flops_kernel {
	const char *name;
	bool (*is_there)(void); /* whether this CPU has the instructions */
	/* Multiplies and adds rounds times; what it returns has no meaning, but is used. */
	double (*run)(uint64_t rounds, double factor, double term);
	unsigned flops; /* in a round */
};

/* The widest that this CPU has. */
const struct flops_kernel *flops__widest(void);

#endif
