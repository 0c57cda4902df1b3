/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of Slurm's own files that jobprofd must fit, and the release of Slurm on this node.
 * Files are read; no program is run. */
#ifndef JP_DAEMON_CONFIG_SLURM_CONF_H
#define JP_DAEMON_CONFIG_SLURM_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config/config.h"

#define SLURM_PATH 512

struct slurm_conf {
	char conf[SLURM_PATH];	       /* slurm.conf; "": none was found */
	char cluster[128];	       /* ClusterName; "": not set */
	char profile_type[64];	       /* AcctGatherProfileType; "": not set */
	char profile_dir[SLURM_PATH];  /* ProfileHDF5Dir of acct_gather.conf */
	char proctrack[64];	       /* ProctrackType; "": not set, Slurm's default is cgroup's */
	char task_plugin[128];	       /* TaskPlugin, a list with commas; "": not set */
	char plugin_dir[SLURM_PATH];   /* PluginDir, a list with colons; "": Slurm's built-in one */
	char plugstack[SLURM_PATH];    /* PlugStackConfig, or plugstack.conf next to slurm.conf */
	char spank[SLURM_PATH];	       /* where plugstack.conf has spank_jobprof.so; "": nowhere */
	char spank_socket[SLURM_PATH]; /* its argument socket=; "": the default */
	bool spank_required;	       /* else optional */
	char profile_socket[SLURM_PATH]; /* ProfileJobprofSocket of acct_gather.conf; "": the
					  * default
					  */
	char named[128];		 /* NodeNames whose NodeHostname this host is; "": none */
	bool has_node;			 /* some line has the NodeName of jobprof.conf */
	bool dynamic;			 /* nodes may join that no line names */
	unsigned errors; /* errors in these files, logged, which Slurm does not accept either */
};

/*
 * Reads the slurm.conf that the configuration includes, else that of SLURM_CONF in the environment,
 * else that of the usual places. What makes no sense in Slurm's files is not reported, except where
 * an included file cannot be read or the like. 0; -ENOENT: there is none; -errno: it cannot be
 * read.
 */
int slurm_conf__read(struct slurm_conf *s, const struct config *c);

#define SLURM_RELEASE_MASK 0xffff00u /* without the patch level, which SPANK does not look at */

struct slurm_release {
	uint32_t version;     /* as SLURM_VERSION_NUMBER: 0x1a0503 is 26.05.3 */
	char dir[SLURM_PATH]; /* where its own plugins are */
};

/*
 * Finds the release of Slurm by the plugins in PluginDir of slurm.conf, else by the node's slurmd
 * if it runs, else by the slurmd in PATH or in an sbin. 0; -ENOENT: none was found.
 */
int slurm_release__find(struct slurm_release *slurm, const struct slurm_conf *conf,
			const char *node);

/* Reads the version of a plugin of Slurm's, or for Slurm. 0; -errno of opening it; -ENOEXEC: it has
 * no version. */
int slurm_release__version_of(const char *plugin, uint32_t *version);

#endif
