/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "store/h5util.h"
#include "store/merge_internal.h"

#define THREADS_MAX 64
#define THREADS_OWN 8 /* taken without being asked to */
#define READERS_MS  5000
#define FULL_BYTES  65536u /* left on a file system that counts as full */

static unsigned cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n > THREADS_OWN ? THREADS_OWN : n;
}

/* FILE.h5 of a restarted run is FILE.restart<N>.h5. */
static char *output_name(const struct merge_opts *o, const struct merge_set *s)
{
	char run[32] = "", *name = NULL;
	int n;

	if (s->restart >= 0)
		snprintf(run, sizeof(run), ".restart%d", s->restart);
	if (!o->output) {
		n = asprintf(&name, "./job_%u%s.h5", s->job, run);
	} else {
		size_t len = strlen(o->output);
		bool h5 = len > 3 && !strcmp(o->output + len - 3, ".h5");

		n = asprintf(&name, "%.*s%s%s", (int)(len - 3 * h5), o->output, run,
			     h5 ? ".h5" : "");
	}
	return n < 0 ? NULL : name;
}

static bool several_jobs(const struct merge_sets *sets)
{
	for (unsigned i = 1; i < sets->n; i++)
		if (sets->v[i].job != sets->v[0].job)
			return true;
	return false;
}

/* What the process that writes tells the one that waits for it. */
struct outcome {
	struct merge_report st;
	unsigned refused;
	int err;
};

/* The library may not outlive a write that failed: some paths of it free memory twice. */
static void name_death(const char *output, int signal)
{
	struct merge_place p;
	struct statvfs fs;
	bool full = false;

	/* This also removes what was left of the file. */
	if (!merge_place__begin(&p, output)) {
		full = !fstatvfs(p.dir, &fs) && fs.f_bavail * fs.f_bsize < FULL_BYTES;
		merge_place__end(&p);
	}
	log_error("%s: cannot be written: %s%s", output,
		  full ? "No space left on device" : "the HDF5 library was ended by signal ",
		  full ? "" : strsignal(signal));
}

/* Its readers die with the one that writes, but not at once, and they share its lock. All have the
 * pipe: it ends with the last of them. */
static void await_readers(int pipe_fd)
{
	struct pollfd p = {.fd = pipe_fd, .events = POLLIN};

	poll(&p, 1, READERS_MS);
}

static void write_apart(const struct merge_opts *o, struct merge_set *s, const char *output,
			bool quick, struct outcome *out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	out->err = merge_job__run(o, s, output, quick, &out->st);
	out->refused = s->refused;
	_exit(0);
}

/* -EAGAIN: quickly was not well. */
static int run_apart(const struct merge_opts *o, struct merge_set *s, const char *output,
		     bool quick, struct outcome *out)
{
	int status = 0, fd[2], err;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		write_apart(o, s, output, quick, out);
	err = pid < 0 ? -errno : 0;
	close(fd[1]);
	while (!err && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!err && WIFEXITED(status) && !WEXITSTATUS(status)) {
		err = out->err;
	} else if (!err) {
		await_readers(fd[0]);
		if (!quick)
			name_death(output, WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT);
		err = quick ? -EAGAIN : -EIO;
	}
	close(fd[0]);
	return err;
}

static int try_job(const struct merge_opts *o, struct merge_set *s, const char *output, bool quick,
		   struct outcome *out)
{
	*out = (struct outcome){.refused = s->refused, .err = -EIO};
	return run_apart(o, s, output, quick, out);
}

static int merge_job(const struct merge_opts *o, struct merge_set *s, const char *output,
		     struct merge_report *st)
{
	struct outcome *out =
		mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err = -EAGAIN;

	if (out == MAP_FAILED)
		return -ENOMEM;
	if (o->keep)
		err = try_job(o, s, output, true, out);
	if (err == -EAGAIN)
		err = try_job(o, s, output, false, out);
	s->refused = out->refused;
	st->outputs += out->st.outputs;
	st->nodes += out->st.nodes;
	st->known += out->st.known;
	st->deleted += out->st.deleted;
	munmap(out, sizeof(*out));
	return err;
}

static int merge_set(const struct merge_opts *o, struct merge_set *s, struct merge_report *st)
{
	_cleanup_free_ char *output = output_name(o, s);
	int err;

	if (!output)
		return -ENOMEM;
	if (!s->nitems)
		log_error("job %u: nothing in %s that can be merged", s->job, s->where);
	err = s->nitems ? merge_job(o, s, output, st) : -ENOENT;
	st->refused += s->refused;
	return err || s->refused ? 1 : 0;
}

static int merge_sets(const struct merge_opts *o, struct merge_sets *sets, struct merge_report *st)
{
	int status = sets->missing ? 1 : 0;

	if (o->output && several_jobs(sets)) {
		log_error("-o names one file, but there are several jobs");
		return -EINVAL;
	}
	for (unsigned i = 0; i < sets->n; i++)
		if (merge_set(o, &sets->v[i], st))
			status = 1;
	return sets->n ? status : -ENOENT;
}

/*
 * The library takes half a MiB for every file it opens: giving that back to the kernel each time
 * takes longer than reading many a file. It also keeps lists of what it has freed, but by default
 * less than one table of some hundred columns comes to, and then it empties them all.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 8 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	H5set_free_list_limits(8 << 20, 1 << 20, 4 << 20, 1 << 20, 16 << 20, 1 << 20);
}

int merge__run(const struct merge_opts *opts, struct merge_report *st)
{
	struct merge_opts o = *opts;
	struct merge_report none;
	struct merge_sets sets;
	int err;

	keep_memory();
	h5__init();
	H5PLset_loading_state(0);
	o.threads = o.threads ? o.threads : cpus();
	if (o.threads > THREADS_MAX)
		o.threads = THREADS_MAX;
	if (!st)
		st = &none;
	*st = (struct merge_report){0};
	err = merge_dir__find(&o, &sets);
	if (!err)
		err = merge_sets(&o, &sets, st);
	else if (err != -EINVAL)
		err = 1;
	merge_dir__free(&sets);
	return err;
}
