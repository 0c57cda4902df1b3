// SPDX-License-Identifier: GPL-2.0-only
/* Makes a file of a journal, and removes it. */
#include "cmd/jobprof/run/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "pool/pool.h"

#define FILE_NAME "report.h5"
#define COPY_NAME "journal"
#define BLOCK	  (1u << 20)

/* In a child: the HDF5 library is for children alone. */
static int build(void *arg)
{
	const struct journal_file *f = arg;
	struct nodestep_stats st;
	int err = nodestep__build(f->journal_fd, f->dir_fd, FILE_NAME, f->window, &st);

	return err ? -err : st.rows ? 0 : ENODATA;
}

/* A journal is not read from a pipe. 0 or -1. */
static int take_journal(struct journal_file *f, int journal)
{
	ssize_t n = 1;

	f->is_copy = lseek(journal, 0, SEEK_CUR) < 0;
	if (!f->is_copy) {
		f->journal_fd = journal;
		return 0;
	}
	f->journal_fd = openat(f->dir_fd, COPY_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->journal_fd < 0)
		return -1;
	while (n > 0)
		n = splice(journal, NULL, f->journal_fd, NULL, BLOCK, 0);
	return n < 0 ? -1 : 0;
}

/* 0 or -1, having said why. */
static int make_dir(struct journal_file *f)
{
	const char *tmp = getenv("TMPDIR");
	int err = 0;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	if ((size_t)snprintf(f->dir, sizeof(f->dir), "%s/jobprof-run-XXXXXX", tmp) >=
	    sizeof(f->dir))
		err = ENAMETOOLONG;
	else if (!mkdtemp(f->dir))
		err = errno;
	if (err)
		log_error("no report: TMPDIR %.200s: %s", tmp, strerror(err));
	return err ? -1 : 0;
}

int journal_file__make(struct journal_file *f, int journal, const struct nodestep_window *window)
{
	*f = (struct journal_file){.window = window, .dir_fd = -1, .journal_fd = -1};
	if (journal < 0 || make_dir(f))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, FILE_NAME);
	f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->dir_fd < 0 || take_journal(f, journal) ? -1 : pool__call(build, f, &POOL_STREAM);
}

void journal_file__remove(struct journal_file *f)
{
	if (f->is_copy && f->journal_fd >= 0)
		close(f->journal_fd);
	if (f->dir_fd < 0)
		return;
	unlinkat(f->dir_fd, COPY_NAME, 0);
	unlinkat(f->dir_fd, FILE_NAME, 0);
	close(f->dir_fd);
	rmdir(f->dir);
}
