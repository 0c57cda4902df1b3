/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/jobprof/guarded_output.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/output_file.h"
#include "pool/guard.h"

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

int guarded__write(const char *path, const char *from, int (*fn)(void *arg, int fd, bool *keep),
		   void *arg)
{
	struct work w = {.fn = fn, .arg = arg, .keep = guard__share(sizeof(bool))};
	struct output out;
	int status;

	if (!w.keep) {
		log_error("%s", strerror(ENOMEM));
		return 1;
	}
	status = output__open(&out, path, from);
	if (!status) {
		w.fd = out.fd;
		status = guard__verb(in_child, &w, &GUARD_STREAM);
		if (output__close(&out, *w.keep) && *w.keep)
			status = 1;
	}
	guard__unshare(w.keep, sizeof(bool));
	return status;
}
