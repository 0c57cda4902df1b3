/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds ProfileHDF5Dir in the configuration of jobprof or Slurm. */
#include "jobfile/profiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/log.h"

#define JOBPROF_CONF JOBPROF_SYSCONFDIR "/jobprof/jobprof.conf"

/* A file that is not there says nothing. */
static int from_file(const char *path, char **out)
{
	struct config c;
	int err;

	if (access(path, F_OK))
		return 0;
	err = config__init(&c);
	if (err)
		return err;
	err = config__load(&c, path);
	if (err && err != -EINVAL)
		log_error("%s: %s; -p says where the profiles are", path, strerror(-err));
	if (!err && c.hdf5_dir) {
		*out = strdup(c.hdf5_dir);
		err = *out ? 0 : -ENOMEM;
	}
	config__free(&c);
	return err;
}

static char *slurm_path(void)
{
	const char *conf = getenv("SLURM_CONF"), *slash = conf ? strrchr(conf, '/') : NULL;
	char *path;

	if (slash)
		return asprintf(&path, "%.*s/acct_gather.conf", (int)(slash - conf), conf) < 0
			       ? NULL
			       : path;
	return strdup("/etc/slurm/acct_gather.conf");
}

int profile_dir__ask(char **out)
{
	char *slurm = slurm_path();
	int err = slurm ? 0 : -ENOMEM;

	*out = NULL;
	if (!err)
		err = from_file(JOBPROF_CONF, out);
	if (!err && !*out)
		err = from_file(slurm, out);
	free(slurm);
	return err || *out ? err : -ENOENT;
}

int profile_dir__find(char **out)
{
	int err = profile_dir__ask(out);
	char *slurm = err == -ENOENT ? slurm_path() : NULL;

	if (err == -ENOENT)
		log_error("neither %s nor %s has ProfileHDF5Dir; -p says where the profiles are",
			  JOBPROF_CONF, slurm ? slurm : "acct_gather.conf");
	free(slurm);
	return err;
}
