/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of a step, each with a name in its journal. */
#ifndef JP_DAEMON_RECORD_STEP_TABLES_H
#define JP_DAEMON_RECORD_STEP_TABLES_H

#include "daemon/step/step.h"

/* The table of that kind and task (JP_GTID_NONE: the step's), which is made if it is not there.
 * NULL: no memory. */
struct table *step__table(struct step *s, int kind, int gtid);
/* The table of that name of Commands, likewise. */
struct table *step__command_table(struct step *s, const char *name);
/* Declares a table whose declaration was left out with an earlier frame. 0 or -errno. */
int step__declare_table(struct step *s, struct table *t);

#endif
