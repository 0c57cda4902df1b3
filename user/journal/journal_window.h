/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of a journal that grows, mapped: a frame is copied to its place, which costs less than
 * write(2). The place is taken on the disk before, so that there is no lack of room later,
 * and is zeros up to the end of the file. A frame's header is stored last, at once: whoever reads
 * meanwhile, or after a kill, finds the frame or finds zeros.
 */
#ifndef JP_JOURNAL_JOURNAL_WINDOW_H
#define JP_JOURNAL_JOURNAL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_window {
	char *mem;
	uint64_t from, to;
	bool refused; /* this file cannot be mapped, or a copy into it failed */
};

/* Puts a frame of len bytes, its header first, at byte pos, all multiples of 8. False: it is not
 * there, write it. */
bool journal_window__put(struct journal_window *w, int fd, uint64_t pos, const void *frame,
			 size_t len);
/* Gives back what the file, of size bytes in use, has beyond them. */
void journal_window__close(struct journal_window *w, int fd, uint64_t size);

#endif
