/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process may still do: capabilities and system calls, by kind of process. One table in
 * confine.c has all of it. Where a wrong list would cost a job its data, a call that is not allowed
 * fails with EPERM and is in the kernel's log (audit, type=1326); a process that parses with few
 * calls what a user wrote is killed.
 */
#ifndef JP_POOL_CONFINE_H
#define JP_POOL_CONFINE_H

enum confine_kind {
	CONFINE_DAEMON,	 /* jobprofd, and what it starts, which may have less */
	CONFINE_LOOKUP,	 /* reads /proc of jobs' processes, and asks name services */
	CONFINE_CODE,	 /* opens programs of jobs' processes, and hands them on */
	CONFINE_UNWIND,	 /* parses those */
	CONFINE_COPY,	 /* copies a journal */
	CONFINE_SLURM,	 /* a command of Slurm's */
	CONFINE_VERB,	 /* jobprof without root's rights: a merge, a service */
	CONFINE_WRITER,	 /* jobprof-writer */
	CONFINE_READER,	 /* reads HDF5 and ELF files */
	CONFINE_READERS, /* and starts such processes */
};

/* Gives up, for good, what the kind does not need; programs that are executed get none of it
 * either. Of several threads it is for the calling one, and for those that it starts. Capabilities
 * survive a change of ids before this where PR_SET_KEEPCAPS is set. 0 or -errno. */
int confine__process(enum confine_kind kind);
/* For jobprofd, and for a service that reads what others wrote (CONFINE_VERB), where it is not
 * root's: that one becomes the owners of files. Logs a kernel that cannot. */
void confine__service(enum confine_kind kind);

#endif
