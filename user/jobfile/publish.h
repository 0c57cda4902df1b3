/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting a node-step file where its readers look: they only ever see complete files. */
#ifndef JP_JOBFILE_PUBLISH_H
#define JP_JOBFILE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hdf5/nodestep.h"

#define PUBLISH_NAME_MAX 240 /* leaves room for the dot and .tmp */

/*
 * name is the final one, "<jobid>_<step>_<node>.h5": no slash, no leading dot, else -EINVAL. The
 * file is built as .NAME.tmp in the directory dir_fd, synced and renamed; the directory is synced.
 * 0, or what nodestep__build and the file system say; then nothing was published.
 */

/* Publishes .NAME, what a running step shows. */
int publish__live(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st);

/* Removes .NAME and what a writer that was killed has left of it. */
int publish__remove(int dir_fd, const char *name);

/* Bits of a mode that new files in the directory do not get: in a directory that its owner shares
 * with a group (set-group-ID, and nothing for others: ProfileGroup) files are for both. Elsewhere
 * 0. */
mode_t publish__mask(int dir_fd);

struct kept {
	char path[300];
	bool by_slurm; /* the file of Slurm's own plugin stays at NAME, jobprof's was moved */
};

/*
 * Publishes NAME and removes .NAME. A NAME that is there is replaced when it has the journal's
 * "Start TimeNS" (this publication is a repetition); otherwise it is another run's, and the earlier
 * one of the two goes to restart<N>/NAME, never over anything; kept->path then says where, else it
 * is "". N is that one's "Restart Count" when that place is free, else the lowest free number.
 * Where NAME is of Slurm's own plugin, the new file goes there.
 */
int publish__final(int journal_fd, int dir_fd, const char *name, struct nodestep_stats *st,
		   struct kept *kept);

#endif
