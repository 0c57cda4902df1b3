// SPDX-License-Identifier: GPL-2.0-only
/* The report on the window of a step in which a command ran: of the rows that the step's journal
 * has of that time a file is made, which is read as any other and removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/jobprof/report/report.h"
#include "cmd/jobprof/run/run_window.h"
#include "hdf5/nodestep.h"
#include "pool/pool.h"

#define FILE_NAME "window.h5"
#define COPY_NAME "journal"
#define BLOCK	  (1u << 20)

static struct report_opts how_of(const struct window *w)
{
	return (struct report_opts){
		.is_run = true,
		.name = w->argv[0],
		.more = "run it with --json",
		.lines_after = 2,
	};
}

struct made {
	const struct window *w;
	char dir[256], path[300];
	int dir_fd, journal_fd; /* -1: not open */
};

/* In a child: the HDF5 library is for children alone. */
static int build(void *arg)
{
	const struct made *m = arg;
	const struct nodestep_window window = {m->w->before.time_ns, m->w->after.time_ns};
	struct nodestep_stats st;
	int err = nodestep__build(m->journal_fd, m->dir_fd, FILE_NAME, &window, &st);

	return err ? -err : st.rows ? 0 : ENODATA;
}

/* A journal is not read from a pipe. 0 or -1. */
static int copy_journal(struct made *m)
{
	ssize_t n = 1;

	m->journal_fd = openat(m->dir_fd, COPY_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (m->journal_fd < 0)
		return -1;
	while (n > 0)
		n = splice(m->w->journal, NULL, m->journal_fd, NULL, BLOCK, 0);
	return n < 0 ? -1 : 0;
}

static void remove_files(struct made *m)
{
	if (m->journal_fd >= 0)
		close(m->journal_fd);
	if (m->dir_fd < 0)
		return;
	unlinkat(m->dir_fd, COPY_NAME, 0);
	unlinkat(m->dir_fd, FILE_NAME, 0);
	close(m->dir_fd);
	rmdir(m->dir);
}

/* 0 or -1, having said why. */
static int make_dir(struct made *m)
{
	const char *tmp = getenv("TMPDIR");
	int err = 0;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	if ((size_t)snprintf(m->dir, sizeof(m->dir), "%s/jobprof-run-XXXXXX", tmp) >=
	    sizeof(m->dir))
		err = ENAMETOOLONG;
	else if (!mkdtemp(m->dir))
		err = errno;
	if (err)
		log_error("no report, sums only: TMPDIR %.200s: %s", tmp, strerror(err));
	return err ? -1 : 0;
}

/* Makes the file of the window. 0, or an error; remove_files() in all cases. */
static int make_file(struct made *m, const struct window *w)
{
	*m = (struct made){.w = w, .dir_fd = -1, .journal_fd = -1};
	if (w->journal < 0 || make_dir(m))
		return -1;
	snprintf(m->path, sizeof(m->path), "%s/%s", m->dir, FILE_NAME);
	m->dir_fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return m->dir_fd < 0 || copy_journal(m) ? -1 : pool__call(build, m, &POOL_STREAM);
}

int window_report__print(const struct window *w)
{
	const struct report_opts how = how_of(w);
	struct made m;
	int err = make_file(&m, w);

	if (!err)
		err = report__on_stderr(m.path, &how);
	remove_files(&m);
	return err;
}

static int take_json(const struct report *r, void *json)
{
	*(json_t **)json = report__json(r);
	return 0;
}

json_t *window_report__json(const struct window *w)
{
	const struct report_opts how = how_of(w);
	json_t *json = NULL;
	struct made m;

	if (!make_file(&m, w))
		report__judge(&(struct job_input){.path = m.path}, 1, &how, take_json, &json);
	remove_files(&m);
	return json;
}
