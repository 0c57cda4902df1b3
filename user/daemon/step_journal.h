/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal of a step: its file and its header. */
#ifndef JP_DAEMON_STEP_JOURNAL_H
#define JP_DAEMON_STEP_JOURNAL_H

#include "daemon/step.h"

/* Makes it, with the header, the first attributes and tables. 0; -errno: logged, the step is not
 * profiled. */
int step__open_journal(struct step *s, const struct step_env *env);
/* What tells this boot of the machine from others. */
void step_journal__boot_id(char *buf, size_t len);

#endif
