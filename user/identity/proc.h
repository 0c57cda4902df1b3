/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts about a process, by /proc. Processes come and go while they are read: every function may
 * return -ENOENT or -ESRCH for one that is gone, and a pid may by then be another's; callers
 * compare proc__starttime where that matters. What users can set (comm, title, environment) is
 * parsed as hostile.
 */
#ifndef JP_IDENTITY_PROC_H
#define JP_IDENTITY_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Another directory instead of /proc, for tests; must live as long as it is used. */
void proc__set_root(const char *root);

/* Opens one of its files, "status" for example, for reading: an fd or -errno. */
int proc__open(pid_t pid, const char *file);
int proc__ppid(pid_t pid, pid_t *ppid);
/* Clock ticks since boot. */
int proc__starttime(pid_t pid, uint64_t *ticks);
int proc__comm(pid_t pid, char *buf, size_t size);
/* Where a link leads: "exe" (" (deleted)" follows where the file is gone), "root/PATH". -E2BIG: it
 * does not fit. */
int proc__link(pid_t pid, const char *link, char *buf, size_t size);
/* Its paths are ours: it is in no container and no chroot that we are not in. May hang as the
 * root's file system does. */
bool proc__has_our_root(pid_t pid);
/* Calls fn with every process until it returns something else than 0, which is returned; 0 or
 * -errno. */
int proc__each(int (*fn)(void *ctx, pid_t pid), void *ctx);
/* The real user id. */
int proc__uid(pid_t pid, uid_t *uid);
/* cmdline and environ need the lock of the process's memory map, which its user may keep for ever:
 * what must not hang does not call the next five of a process that is not its own or root's. */

/* The command line, each argument with its NUL; the last one may be cut. Bytes or -errno. */
ssize_t proc__args(pid_t pid, char *buf, size_t size);
/* The command line with blanks between arguments and none at the end; cut if it does not fit. A
 * process without one (a kernel thread, a zombie) has "". */
int proc__title(pid_t pid, char *buf, size_t size);
/* The value of a variable in the environment the process was started with. -ENODATA: not set;
 * -E2BIG: does not fit, or not within the first 4 MiB; -EAGAIN, of the next two as well: there was
 * none, or the process has begun another program meanwhile; -ESRCH: it has ended. */
int proc__environ(pid_t pid, const char *name, char *buf, size_t size);
/* Calls fn with every string of that environment; those of 512 bytes and more are left out, and
 * what lies beyond its first 4 MiB. */
int proc__environ_each(pid_t pid, void (*fn)(void *ctx, const char *text), void *ctx);
/* SLURM_PROCID of its environment. -EINVAL: not a number from 0 to 2^31 - 1. */
int proc__procid(pid_t pid, int32_t *procid);

/*
 * The title slurmstepd gives itself: "slurmstepd: [<job>.<step>]", and in a heterogeneous job
 * "[<leader>+<offset>.<step>]", where *job becomes leader + offset, as Slurm numbers components.
 * The one that makes the job's steps (stepmgr, since 24.05) adds that: "[<job>.extern stepmgr]".
 * step becomes the name as in cgroup paths. Blanks may follow. 0 or -EINVAL. Anyone can set such a
 * title: the caller makes sure whose process it is.
 */
int proc__stepd_title(const char *title, uint32_t *job, char *step, size_t size);

/* Whether the process is called slurmstepd and belongs to root. Anyone can take the name, only
 * root's process is believed. 1, 0 or -errno. */
int proc__is_stepd(pid_t pid);

/*
 * The first process of pid's lineage: the ancestor, or pid itself, whose parent is a process
 * called slurmstepd that belongs to root. -ENOENT: there is none (it was started some other way,
 * or its parents have ended). -ELOOP: too many ancestors.
 */
int proc__root_of(pid_t pid, pid_t *root);

#endif
