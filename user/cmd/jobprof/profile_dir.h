/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CMD_JOBPROF_PROFILE_DIR_H
#define JP_CMD_JOBPROF_PROFILE_DIR_H

/*
 * Where the profiles of all users are, when nobody says: ProfileHDF5Dir of jobprof.conf, else of
 * acct_gather.conf beside $SLURM_CONF or in /etc/slurm. *out is to be freed. 0; -ENOENT: no
 * configuration says (logged); -EINVAL: one is wrong (logged); -ENOMEM.
 */
int profile_dir__find(char **out);

#endif
