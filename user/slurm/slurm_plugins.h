/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room slurm: the two plugins that Slurm loads; no other file of the project includes Slurm's
 * headers. They run as root inside slurmd and slurmstepd, which must neither end nor wait for them.
 * They send jobprofd what they know over its socket (client/client.h), and print nothing to the
 * job. This header is for readers:
 *
 *   spank_jobprof.so                  spank_jobprof.c: the options of a job, the begin and end of
 *                                     its steps and tasks. spank_ids.h: the parts of a step's
 *                                     identity; spank_link.h: messages to jobprofd;
 *                                     spank_findings.h: findings of a step that runs
 *   acct_gather_profile_jobprof.so    profile_jobprof.c: --profile and Slurm's samples.
 *                                     profile_api.h: what Slurm calls; profile_mask.h: Slurm's
 *                                     bits; profile_record.h, profile_sink.h, profile_columns.h:
 *                                     the way of a sample
 */
#ifndef JP_SLURM_SLURM_PLUGINS_H
#define JP_SLURM_SLURM_PLUGINS_H
#endif
