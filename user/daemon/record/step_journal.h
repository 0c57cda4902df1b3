/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a step: its file, its header, and the frame that is being built (step/frame.h). */
#ifndef JP_DAEMON_RECORD_STEP_JOURNAL_H
#define JP_DAEMON_RECORD_STEP_JOURNAL_H

#include "daemon/step/step.h"

/* Makes the journal with its header, the first attributes and tables. 0; -errno: logged, the step
 * is not profiled. */
int step__open_journal(struct step *s, const struct step_env *env);
/* The id of this boot of the machine. */
const char *step_journal__boot_id(void);

/* The key in the journal's META that tells a later jobprofd that the step's user wants no file. */
#define JOURNAL_UNWANTED "unwanted"
/* Stops profiling, because the step's user wants no file, which may become known late. The step
 * becomes IGNORED, and its journal stays until the step ends, so that a later jobprofd knows. */
void step__refuse(struct step *s, const struct step_env *env);
/* Removes that journal. */
void step__drop_journal(struct step *s);

/* Seconds between two log lines that the journal of a step cannot be written. */
#define FULL_AGAIN_S 600

/* Begins a frame, which is then filled, and committed if it has rows. A journal that another
 * program has replaced, removed or cut is repaired first. */
void step__begin_frame(struct step *s, const struct step_env *env);
/* Writes the frame of frame.put rows. False: the frame cannot be written and is discarded, which is
 * counted and logged. Records from before the frame stay in memory. */
bool step__commit_frame(struct step *s);
/* Writes the last frame, if it could not be written at the step's end. False: it still cannot be
 * written; with `last` it is then discarded. */
bool step__write_rest(struct step *s, bool last);

#endif
