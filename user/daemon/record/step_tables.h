/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a step, each with a name in its journal. */
#ifndef JP_DAEMON_RECORD_STEP_TABLES_H
#define JP_DAEMON_RECORD_STEP_TABLES_H

#include "daemon/step/step.h"

/* The table of that kind and task (JP_GTID_NONE: the step's), which is made if there is none.
 * NULL: no memory. */
struct table *step__table(struct step *s, int kind, int gtid);
/* The table of Commands for a program's name, likewise. */
struct table *step__command_table(struct step *s, const char *name);
/* Two readings for a table that has its own. 0 or -ENOMEM. */
int step_table__make_readings(struct table *t);
/* Releases the row and the readings of a table. */
void step_table__free(struct table *t);
/* Declares a table whose declaration was left out with an earlier frame. 0 or -errno. */
int step__declare_table(struct step *s, struct table *t);

#endif
