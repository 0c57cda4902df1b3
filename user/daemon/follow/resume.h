/* SPDX-License-Identifier: GPL-2.0-only */
/* Journals that earlier runs have left. */
#ifndef JP_DAEMON_FOLLOW_RESUME_H
#define JP_DAEMON_FOLLOW_RESUME_H

struct daemon;

/* Takes up every journal in StateDir: steps of this boot go on, of all others the files are
 * finished. Errors are logged. */
void daemon_resume(struct daemon *d);

#endif
