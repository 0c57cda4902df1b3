/* SPDX-License-Identifier: GPL-2.0-only */
/* What several modes of sh5util say in the stock tool's words. */
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/run/child_output.h"
#include "cmd/sh5util/sh5util.h"
#include "hdf5/hdf5.h"

void sh5__log_unresolved(const struct jobspec *spec)
{
	static const char *const kind_names[] = {
		[JOBSPEC_ARRAY] = "Job array",
		[JOBSPEC_HET] = "Het job",
		[JOBSPEC_SLUID] = NULL,
	};

	if (kind_names[spec->kind])
		log_error("error: %s IDs not supported, use regular job ID instead",
			  kind_names[spec->kind]);
	log_error("%s: no file says that it is of it", spec->text);
}

int sh5__write(const char *path, const char *from, int (*fn)(void *arg, int fd, bool *keep),
	       void *arg)
{
	int status = child_output__write(path, from, fn, arg);

	if (status >= 0)
		return status;
	log_error("error: Failed to create output file %s -- %s", path, strerror(-status));
	return SH5_USAGE;
}

struct reader *sh5__open(const char *path)
{
	struct reader *r = NULL;
	int err = reader__open(&r, path);

	if (!err)
		return r;
	log_error("error: Failed to open %s", path);
	log_error("%s: %s", path, reader__strerror(err));
	return NULL;
}

bool sh5__all_there(const struct reader *r, const char *path, const struct selection *sel)
{
	char missing[SELECT_MISSING];

	if (!select__missing(r, sel, missing))
		return true;
	log_error("error: %s: %s", path, missing);
	return false;
}
