/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a step's journal that is being built. A frame is written as a whole or left out, so
 * that what is put to it counts as journaled only when it has been written:
 *
 *   begun    step__begin_frame() notes where the frame begins in the journal's memory.
 *   filled   Rows, declarations and attributes are put, and each part of the step notes what it has
 *            put: in a struct journaled, or by a flag in_frame beside the values that the next row
 *            counts from once the frame is written. Where no row is due the frame is not committed,
 * and its attributes are written with the next one. ended    step__commit_frame() writes the frame
 * or drops it, and calls the end_frame() of every part: its tables, those of the node's sensors,
 * stacks, recent bursts, external series.
 *
 * A part knows nothing of the journal's errors: after FRAME_DROPPED it puts the same again.
 */
#ifndef JP_DAEMON_STEP_FRAME_H
#define JP_DAEMON_STEP_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct frame {
	size_t mark;
	unsigned put;		  /* rows in it, which are lost if the frame is dropped */
	int err;		  /* a row could not be put: the frame is dropped */
	uint64_t rows, intervals; /* counts of the step before the frame */
};

enum frame_end {
	FRAME_WRITTEN, /* the journal has the frame: the next rows count from its rows */
	FRAME_DROPPED, /* the frame was left out: the next rows also count what its rows would have
			  counted */
	FRAME_LOST     /* no frame is being built: another program has cut the journal, and what
			* earlier frames declared is to be declared again */
};

/*
 * How much of a list that only grows is journaled: the first `written` items are in frames that
 * were written; the items after these, up to `put`, are in the frame that is being built. The
 * declaration of a table is a list of one item.
 */
struct journaled {
	uint64_t written, put;
};

static inline void journaled__end_frame(struct journaled *j, enum frame_end end)
{
	if (end == FRAME_LOST)
		j->written = 0;
	if (end == FRAME_WRITTEN)
		j->written = j->put;
	else
		j->put = j->written;
}

/* Item n and those after it have changed: they are put again. */
static inline void journaled__change(struct journaled *j, uint64_t n)
{
	if (j->put > n)
		j->put = n;
	if (j->written > n)
		j->written = n;
}

#endif
