/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command of Slurm's and reads its output line by line. The command runs in a process group
 * of its own, without a shell, and ends with this process; it prints times as Unix time, and takes
 * times as UTC.
 */
#ifndef JP_IDENTITY_SLURM_LINES_H
#define JP_IDENTITY_SLURM_LINES_H

#include <stddef.h>
#include <stdint.h>

struct slurm_lines {
	const char *dir;   /* where the command is; NULL: by PATH */
	char *const *argv; /* the command and its arguments */
	double seconds;	   /* how long it may take in all, without the time in `take` */
	uint64_t most;	   /* bytes of output that it may print */
	char said[256];	   /* why it failed, by what it printed if it printed something */
	/* Takes a line, without its newline; a line longer than 1 MiB comes in parts. An error ends
	 * the reading. */
	int (*take)(void *arg, const char *line);
	void *arg;
};

/* 0; -ENOENT: it cannot be run; -ETIME; -EFBIG: it printed more than it may; -EIO: it failed, and
 * what it had printed has been taken; what take() returned; -errno. When it returns, the command
 * and all that it started have been killed. Nothing is logged. */
int slurm_lines__read(struct slurm_lines *l);

/* What Slurm plans with for a job without a time limit, and says of it when it has run: a year. */
#define SLURM_NO_LIMIT_S (365 * 86400)

#endif
