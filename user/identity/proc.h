/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process, by its files in /proc. Processes come and go while they are read: every function may
 * return -ENOENT or -ESRCH for one that is gone, and a pid may by then be another's. What users can
 * set (comm, title, environment) is parsed as hostile.
 */
#ifndef JP_IDENTITY_PROC_H
#define JP_IDENTITY_PROC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Another directory instead of /proc, for tests; must live as long as it is used. */
void proc__set_root(const char *root);

/* Opens a file of the process, "status" for example, for reading. An fd or -errno. */
int proc__open(pid_t pid, const char *file);

/* The lines of a process's "maps", of its first 8 MiB, that fit into `line`. The rest of a longer
 * line is skipped: if it were read as a second line, the user, who can choose the path, could
 * choose that line. After proc_lines__open, which returns 0 or -errno, proc_lines__next is called
 * until it returns false, and closes the file then. */
struct proc_lines {
	FILE *f;
	size_t left;
	char line[PATH_MAX + 128];
};

int proc_lines__open(struct proc_lines *l, pid_t pid);
bool proc_lines__next(struct proc_lines *l);

int proc__ppid(pid_t pid, pid_t *ppid);
int proc__comm(pid_t pid, char *buf, size_t size);
/* Where a link leads: "exe" (" (deleted)" follows where the file is gone), "root/PATH". -E2BIG: it
 * does not fit. */
int proc__link(pid_t pid, const char *link, char *buf, size_t size);
/* Whether the process has the caller's root directory, and is in no container or chroot of its own,
 * so that its paths mean the same here. The call hangs if the file system of its root does. */
bool proc__has_our_root(pid_t pid);
/* Calls fn with every process until it returns something else than 0, which is returned; 0 or
 * -errno. */
int proc__each(int (*fn)(void *ctx, pid_t pid), void *ctx);
/* CPU time of the process and of its threads that have ended, in clock ticks. */
int proc__cpu_ticks(pid_t pid, uint64_t *ticks);
/* The real user id. */
int proc__uid(pid_t pid, uid_t *uid);
/* The next five functions need the lock of the process's memory map, which its user may keep for
 * ever. A caller that must not hang calls them only for its own processes and root's. */

/* The command line, each argument with its NUL; the last one may be cut. Bytes or -errno. */
ssize_t proc__args(pid_t pid, char *buf, size_t size);
/* The command line with blanks between arguments and none at the end; cut if it does not fit. A
 * process without one (a kernel thread, a zombie) has "". */
int proc__title(pid_t pid, char *buf, size_t size);
/* The value of a variable in the environment that the process was started with. 0; -ENODATA: it is
 * not set; -E2BIG: it does not fit, or is not within the first 4 MiB. Also from the next two
 * functions: -EAGAIN: the process has no environment, or has begun another program meanwhile;
 * -ESRCH: the process has ended. */
int proc__environ(pid_t pid, const char *name, char *buf, size_t size);
/* Calls fn with every string of that environment; those of 512 bytes and more are left out, and
 * what lies beyond its first 4 MiB. */
int proc__environ_each(pid_t pid, void (*fn)(void *ctx, const char *text), void *ctx);
/* SLURM_PROCID of its environment. -EINVAL: not a number from 0 to 2^31 - 1. */
int proc__procid(pid_t pid, int32_t *procid);

/*
 * The title slurmstepd gives itself: "slurmstepd: [<job>.<step>]", and in a heterogeneous job
 * "[<leader>+<offset>.<step>]", where *job becomes leader + offset, as Slurm numbers components.
 * The slurmstepd that makes the job's steps (stepmgr, since 24.05) adds this: "[<job>.extern
 * stepmgr]". step becomes the name as in cgroup paths. Blanks may follow. 0 or -EINVAL. Anyone can
 * set such a title: the caller makes sure whose process it is.
 */
int proc__stepd_title(const char *title, uint32_t *job, char *step, size_t size);

/* Whether the process is called slurmstepd and belongs to root. Anyone can take the name; only
 * root's process is trusted. 1, 0 or -errno. */
int proc__is_stepd(pid_t pid);

/*
 * The first process of pid's lineage: the ancestor, or pid itself, whose parent is a process
 * called slurmstepd that belongs to root. -ENOENT: there is none (it was started some other way,
 * or its parents have ended). -ELOOP: too many ancestors.
 */
int proc__root_of(pid_t pid, pid_t *root);

#endif
