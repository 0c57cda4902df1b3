/* SPDX-License-Identifier: GPL-2.0-only */
/* What several modes of sh5util say in the stock tool's words. */
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/sh5util/sh5util.h"

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
	int status;

	options__overwrite();
	status = child_output__write(path, from, &POOL_STREAM, fn, arg);
	if (status >= 0)
		return status;
	log_error("error: Failed to create output file %s -- %s", path, strerror(-status));
	return SH5_USAGE;
}

bool sh5__open(struct model_file *f, const char *path)
{
	int err = model_file__open(f, path);

	if (!err)
		return true;
	log_error("error: Failed to open %s", path);
	log_error("%s: %s", path, model_file__strerror(err));
	return false;
}

bool sh5__all_there(const struct model_file *f, const char *path, const struct selection *sel)
{
	char missing[SELECT_MISSING];

	if (!select__missing(f->reader, sel, missing))
		return true;
	log_error("error: %s: %s", path, missing);
	return false;
}
