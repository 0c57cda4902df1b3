/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on a terminal that shows the progress of long work. */
#ifndef JP_BASE_PROGRESS_H
#define JP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *activity;
	uint64_t total;
	uint64_t start_ns, next_ns;
	bool on, shown;
};

/* activity ("merging") must live as long. Nothing is shown where stderr is no terminal, nor in the
 * first second, nor with a total of 0. */
void progress__begin(struct progress *p, const char *activity, uint64_t total);
/* Cheap: draws at most ten times a second. */
void progress__at(struct progress *p, uint64_t done);
/* Removes the line: at the end, and before anything else is printed; the next progress__at() draws
 * it again. */
void progress__clear(struct progress *p);

#endif
