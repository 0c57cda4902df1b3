/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that bring external series: tables, rows and marks, of Slurm's gatherers and of the
 * job's own programs. */
#ifndef JP_DAEMON_CONTROL_ROWS_H
#define JP_DAEMON_CONTROL_ROWS_H

#include "daemon/control_call.h"

/* A message of that type. 0, or -errno of the reply. */
int control_rows__table(struct call *k, const struct jpc_head *h);
int control_rows__rows(struct call *k, const struct jpc_head *h);
int control_rows__mark(struct call *k, const struct jpc_head *h);

#endif
