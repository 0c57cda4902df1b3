/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a configuration fit this node, its directories and what Slurm is configured to do? */
#ifndef JP_DAEMON_CHECK_H
#define JP_DAEMON_CHECK_H

#include "base/config.h"
#include "sensor/ipmi/ipmi_settings.h"

/* What jobprofd does not start with. Logs. 0 or -EINVAL. families: of steps that ask for nothing.
 */
int check__settings(const struct config *c, unsigned families);

/* The keys that begin with EnergyIPMI. Logs. 0 or -EINVAL. */
int check__ipmi(const struct config *c, struct ipmi_settings *s);

/* Logs if Slurm makes no cgroups for steps, or its own profile plugin writes to the same place. */
void check__slurm(const struct config *c);

/* Everything else, for --check-config: a line on stdout for what is well, a logged one for what is
 * not. The number of errors. */
unsigned check__node(const struct config *c);

#endif
