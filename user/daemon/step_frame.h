/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of a step's journal that is being built: what is in it is written as a whole or left
 * out. */
#ifndef JP_DAEMON_STEP_FRAME_H
#define JP_DAEMON_STEP_FRAME_H

#include "daemon/step.h"

/* So many seconds lie between two times that a step's log says that its journal cannot be written.
 */
#define FULL_AGAIN_S 600

/* The table of that kind and task (JP_GTID_NONE: the step's), new or not. NULL: no memory. */
struct table *step__table(struct step *s, int kind, int gtid);
/* Tells the journal of a table whose declaration was left out with an earlier frame. 0 or -errno.
 */
int step__declare_table(struct step *s, struct table *t);
/* Writes the frame. False: it cannot be written, which is counted and said, and the rows after the
 * mark are left out: what they count is in the next ones. What is before the mark waits in memory.
 */
bool step__commit(struct step *s, size_t mark, unsigned rows);
/* The frame is in the journal (kept), or was left out, with its rows and declarations. */
void step__settle_frame(struct step *s, bool kept);
/* The last frame, if it could not be written at the end. False: it still cannot. */
bool step__write_rest(struct step *s);

#endif
