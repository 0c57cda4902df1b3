/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks whether a configuration fits this node, its directories and Slurm's configuration. */
#ifndef JP_DAEMON_CONFIG_CHECK_H
#define JP_DAEMON_CONFIG_CHECK_H

#include <stddef.h>

#include "base/config/config.h"
#include "sensor/ipmi/ipmi_settings.h"

/* Checks the settings with which jobprofd does not start. Logs. 0 or -EINVAL. families: of steps
 * that ask for nothing. */
int check__settings(const struct config *c, unsigned families);

/* Reads the keys that begin with EnergyIPMI. Logs. 0 or -EINVAL. */
int check__ipmi(const struct config *c, struct ipmi_settings *s);

/* Logs if Slurm makes no cgroups for steps, or its own profile plugin writes to the same place. */
void check__slurm(const struct config *c);

/* Checks everything else, for --check-config: prints a line on stdout for each success, logs one
 * for each problem. Returns the number of errors. */
unsigned check__node(const struct config *c);

/*
 * Checks whether users' directories can be made in dir: makes one and removes it, in a child
 * process that is left behind after 5 s, since shared file systems hang. 0: yes, and the text says
 * whether root or the users make them; -ETIMEDOUT, -errno: no, and the text has the cause and the
 * remedy.
 */
int dir_check__run(const char *dir, char *text, size_t len);

#endif
