/* SPDX-License-Identifier: GPL-2.0-only */
/* Journals left by earlier runs: steps go on, files are finished. */
#ifndef JP_DAEMON_RECOVER_H
#define JP_DAEMON_RECOVER_H

struct daemon;

void daemon_recover(struct daemon *d);

#endif
