/* SPDX-License-Identifier: GPL-2.0-only */
/* Extraction in a process of its own, which a damaged file may take down. */
#include <errno.h>

#include "store/extract_internal.h"
#include "store/guard.h"

/* What parent and child share. */
struct answer {
	const char *path;
	const struct extract_options *options;
	int fd;
	int err;
	bool whole; /* the child got to its end */
	struct extract_result result;
};

static int in_child(void *arg)
{
	struct answer *a = arg;

	a->err = extract__run_here(a->path, a->options, a->fd, &a->result);
	a->whole = true;
	return 0;
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct answer *a = guard__share(sizeof(*a));
	int err;

	*result = (struct extract_result){0};
	if (!a)
		return -ENOMEM;
	*a = (struct answer){.path = path, .options = o, .fd = fd};
	guard__verb(in_child, a, &GUARD_STREAM);
	err = a->whole ? a->err : -ECHILD;
	*result = a->result;
	guard__unshare(a, sizeof(*a));
	return err;
}
