/* SPDX-License-Identifier: GPL-2.0-only */
/* A temporary file made of a journal, for a report where there is no file to read: it is read as
 * any other and removed. */
#ifndef JP_CMD_JOBPROF_RUN_JOURNAL_FILE_H
#define JP_CMD_JOBPROF_RUN_JOURNAL_FILE_H

#include "hdf5/nodestep.h"

struct journal_file {
	const struct nodestep_window *window;
	char dir[256], path[300];
	int dir_fd, journal_fd; /* -1: not open */
	bool is_copy;
};

/* Makes the file in a directory of its own below TMPDIR. The journal is a file or a pipe, which is
 * read to its end; window as of nodestep__build(). 0 or an error; journal_file__remove() in all
 * cases. */
int journal_file__make(struct journal_file *f, int journal, const struct nodestep_window *window);
void journal_file__remove(struct journal_file *f);

#endif
