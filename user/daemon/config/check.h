/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether a configuration fits this node, its directories, and Slurm's configuration. */
#ifndef JP_DAEMON_CONFIG_CHECK_H
#define JP_DAEMON_CONFIG_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/config/config.h"
#include "sensor/ipmi/ipmi_settings.h"

/* The families that steps get. */
struct check_families {
	unsigned by_default; /* of steps that ask for nothing */
	unsigned may_ask;    /* of steps that ask */
};

/*
 * Reads the configuration (after config__init()), and checks the settings without which jobprofd
 * does not start; everything that is wrong is logged with its file and line. needed: it is an error
 * if path does not exist; else all settings have their defaults then. 0; -EINVAL and others of
 * config__load().
 */
int check__load(struct config *c, const char *path, bool needed, struct check_families *f);

/* Reads the keys that begin with EnergyIPMI. Logs what is wrong. 0 or -EINVAL. */
int check__ipmi(struct config *c, struct ipmi_settings *s);

/* StateDir says as whom jobs are merged, and Slurm's plugins believe who listens at Socket: where
 * such a directory is there, root alone may write to it. 0; -EPERM, logged. */
int check__root_alone(const struct config *c);

/* Logs if a program that works as jobs' users can be read by them. */
void check__unreadable(const char *program);

/* Logs if Slurm makes no cgroups for steps, or its own profile plugin writes to the same place. */
void check__slurm(const struct config *c);

/* Checks Slurm's configuration: names, cgroups and plugins. Returns the number of errors, logged.
 */
unsigned check__slurm_conf(const struct config *c);

/* Prints a line on stdout for what is well. */
#define check__ok(fmt, ...) printf("# " fmt "\n", __VA_ARGS__)

/* Checks everything else, for --check-config: prints a line on stdout for each success, logs one
 * for each problem. Returns the number of errors. */
unsigned check__node(const struct config *c);

#endif
