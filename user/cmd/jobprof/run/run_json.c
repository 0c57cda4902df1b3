// SPDX-License-Identifier: GPL-2.0-only
/* Writes the file of "jobprof run --json". */
#include "cmd/jobprof/run/run_json.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "cmd/jobprof/output_file.h"

static int open_as(const struct run_user *u, const char *path, struct output_file *out)
{
	int err = run_user__act(u);

	if (!err)
		err = output_file__open(out, path, "", options__overwrites());
	if (run_user__act_as_ourselves() && !err) {
		output_file__close(out, false);
		err = -EPERM;
	}
	return err;
}

static int close_as(const struct run_user *u, struct output_file *out, bool keep)
{
	int err = run_user__act(u), closed = output_file__close(out, keep && !err);

	return run_user__act_as_ourselves() || closed ? -EIO : err;
}

int run_json__try(const struct run_user *u, const char *path)
{
	struct output_file out;
	struct stat st;

	/* A pipe or a terminal is opened once. */
	if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return 0;
	return open_as(u, path, &out) || close_as(u, &out, false) ? 1 : 0;
}

int run_json__write(const struct run_user *u, const char *path, int (*fn)(void *arg, FILE *out),
		    void *arg)
{
	struct output_file out;
	FILE *f;
	int status = 1;

	if (open_as(u, path, &out))
		return 1;
	f = fdopen(dup(out.fd), "w");
	if (f)
		status = fn(arg, f);
	if (!f || fclose(f)) {
		log_error("%s: cannot be written: %s", path, strerror(errno));
		status = 1;
	}
	return close_as(u, &out, !status) || status ? 1 : 0;
}
