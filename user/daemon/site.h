/* SPDX-License-Identifier: GPL-2.0-only */
/* What Slurm's own files say of this node, as far as jobprofd must fit it. */
#ifndef JP_DAEMON_SITE_H
#define JP_DAEMON_SITE_H

#include <stdbool.h>

#include "base/config.h"

#define SITE_PATH 512

struct site {
	char conf[SITE_PATH];	      /* slurm.conf; "": none was found */
	char cluster[128];	      /* ClusterName; "": not said */
	char profile_type[64];	      /* AcctGatherProfileType; "": not said */
	char profile_dir[SITE_PATH];  /* ProfileHDF5Dir of acct_gather.conf */
	char proctrack[64];	      /* ProctrackType; "": not said, Slurm's default is cgroup's */
	char task_plugin[128];	      /* TaskPlugin, a list with commas; "": not said */
	char plugin_dir[SITE_PATH];   /* PluginDir, a list with colons; "": Slurm's built-in one */
	char plugstack[SITE_PATH];    /* PlugStackConfig, or plugstack.conf beside slurm.conf */
	char spank[SITE_PATH];	      /* where plugstack.conf has spank_jobprof.so; "": nowhere */
	char spank_socket[SITE_PATH]; /* its argument socket=; "": the default */
	bool spank_required;	      /* else optional */
	char profile_socket[SITE_PATH]; /* ProfileJobprofSocket of acct_gather.conf; "": the default
					 */
	char named[128];		/* NodeNames whose NodeHostname this host is; "": none */
	bool has_node;			/* NodeName= of some line is the configuration's */
	bool dynamic;			/* nodes may join that are in no line */
};

/*
 * Of the slurm.conf that the configuration includes, else SLURM_CONF of the environment, else the
 * usual places. Syntax errors in Slurm's files are Slurm's business. 0; -ENOENT: there is none;
 * -errno: it cannot be read.
 */
int site__read(struct site *s, const struct config *c);

#endif
