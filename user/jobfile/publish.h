/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a node-step file where its readers look, so that they only see complete files. */
#ifndef JP_JOBFILE_PUBLISH_H
#define JP_JOBFILE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hdf5/nodestep.h"

#define PUBLISH_NAME_MAX 240 /* leaves room for the dot and .tmp */

/*
 * name is the final one, "<jobid>_<step>_<node>.h5": no slash, no leading dot, else -EINVAL. The
 * file is built as .NAME.tmp in the directory dir_fd, synced and renamed. 0, or an error of
 * nodestep__build() or of the file system; then nothing was published.
 */

/* Has the renames in a directory on the disk, before what they were made of is deleted elsewhere,
 * where this node has the disk: on file systems of servers they are there once the calls return,
 * and another call would be one for each file of all nodes. 0 or -errno. */
int publish__sync_dir(int dir_fd);

/* Publishes .NAME, the file of a running step. */
int publish__live(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st);

/* Removes .NAME, and what a writer that was killed has left. */
int publish__remove(int dir_fd, const char *name);

/* The umask for new files in a directory: where its owner shares it with a group (set-group-ID, and
 * nothing for others: ProfileGroup) files are for both. 0 elsewhere. */
mode_t publish__mask(int dir_fd);

struct kept {
	char path[300];
	bool by_slurm; /* the file of Slurm's own plugin stays at NAME, jobprof's was moved */
};

/*
 * Publishes NAME and removes .NAME. An existing NAME is replaced when it has the journal's "Start
 * TimeNS", because it was published before; otherwise it is of another run, and the file of the
 * earlier run goes to restart<N>/NAME, never over another file. kept->path is its path then, else
 * "". N is that run's "Restart Count" where that place is free, else the lowest free number. Where
 * NAME is of Slurm's own plugin, the new file goes there.
 */
int publish__final(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st,
		   struct kept *kept);

#endif
