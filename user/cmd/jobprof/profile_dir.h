/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CMD_JOBPROF_PROFILE_DIR_H
#define JP_CMD_JOBPROF_PROFILE_DIR_H

/*
 * The directory with the profiles of all users, when no option names it: ProfileHDF5Dir of
 * jobprof.conf, else of acct_gather.conf in the directory of $SLURM_CONF or in /etc/slurm. *out is
 * to be freed. 0; -ENOENT: no configuration has the key (logged); -EINVAL: a configuration is wrong
 * (logged); -ENOMEM.
 */
int profile_dir__find(char **out);
/* The same, but of a missing key nothing is said. */
int profile_dir__ask(char **out);

#endif
