/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output files that a child process with limits writes, and this process puts in place. */
#include "cmd/jobprof/child_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/output_file.h"
#include "pool/pool.h"

struct work {
	int (*fn)(void *arg, int fd, bool *keep);
	void *arg;
	int fd;
	bool *keep; /* of parent and child */
};

static int in_child(void *arg)
{
	struct work *w = arg;
	bool keep = false;
	int status = w->fn(w->arg, w->fd, &keep);

	*w->keep = keep;
	return status;
}

int child_output__write(const char *path, const char *from, const struct pool_limits *l,
			int (*fn)(void *arg, int fd, bool *keep), void *arg)
{
	struct work w = {.fn = fn, .arg = arg, .keep = pool__share(sizeof(bool))};
	struct output_file out;
	int status;

	if (!w.keep) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	status = output_file__open(&out, path, from, options__overwrites());
	if (!status) {
		w.fd = out.fd;
		status = pool__call_verb(in_child, &w, l);
		if (output_file__close(&out, *w.keep) && *w.keep)
			status = 1;
	}
	pool__unshare(w.keep, sizeof(bool));
	return status;
}

int child_output__stream(int fd, int (*fn)(void *arg, FILE *out), void *arg)
{
	FILE *out = fdopen(dup(fd), "w");
	int err = out ? 0 : -errno;

	errno = 0;
	if (out)
		err = fn(arg, out);
	if (out && ferror(out) && !err)
		err = errno ? -errno : -EIO;
	if (out && fclose(out) && !err)
		err = -errno;
	return err;
}
