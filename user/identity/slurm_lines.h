/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of Slurm's and its output, line by line. The command runs in a process group of its
 * own, without a shell, and dies with this process; times that it prints are Unix time, and it
 * takes them as UTC.
 */
#ifndef JP_IDENTITY_SLURM_LINES_H
#define JP_IDENTITY_SLURM_LINES_H

#include <stddef.h>
#include <stdint.h>

struct slurm_lines {
	const char *dir;   /* where the command is; NULL: by PATH */
	char *const *argv; /* the command and its arguments */
	double seconds;	   /* it is waited for so long, in all: what `take` needs does not count */
	uint64_t most;	   /* bytes of its output */
	char said[256];	   /* why it failed, in its own words where it has some */
	/* A line, without its newline; a longer one than 1 MiB comes in parts. Ends the reading by
	 * an error. */
	int (*take)(void *arg, const char *line);
	void *arg;
};

/* 0; -ENOENT: it cannot be run; -ETIME; -EFBIG: it printed more than it may; -EIO: it failed, and
 * what it had printed has been taken; what take() returned; -errno. When it returns, the command
 * and all that it started have been killed. Nothing is logged. */
int slurm_lines__read(struct slurm_lines *l);

#endif
