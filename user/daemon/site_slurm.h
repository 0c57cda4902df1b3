/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Slurm this node has, and for which one a plugin was built. Files are read, none is run. */
#ifndef JP_DAEMON_SITE_SLURM_H
#define JP_DAEMON_SITE_SLURM_H

#include <stdint.h>

#include "daemon/site.h"

#define SLURM_RELEASE_MASK 0xffff00u /* without the patch level, which SPANK does not look at */

struct site_slurm {
	uint32_t version;    /* as SLURM_VERSION_NUMBER: 0x1a0503 is 26.05.3 */
	char dir[SITE_PATH]; /* where its own plugins are */
};

/*
 * The Slurm of that slurm.conf: whose plugins PluginDir has, else that of the node's slurmd if
 * it runs, else that of the slurmd in PATH or in an sbin. 0; -ENOENT: none was found.
 */
int site_slurm__find(struct site_slurm *slurm, const struct site *site, const char *node);

/* Of a plugin of Slurm's or for it. 0; -errno of opening it; -ENOEXEC: it says no version. */
int site_slurm__version_of(const char *plugin, uint32_t *version);

#endif
