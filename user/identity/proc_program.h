/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program that a process executes, its libraries, and the CPUs that it may use. All of it is
 * its user's choice, and parsed as hostile. For helper processes only: the file of a program may be
 * on a file system that does not answer.
 */
#ifndef JP_IDENTITY_PROC_PROGRAM_H
#define JP_IDENTITY_PROC_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "identity/elf.h"

#define PROGRAM_PATH 512
#define PROGRAM_LIBS 256
#define PROGRAM_LIST 256

struct proc_program {
	/* The path; only the name where the path does not fit, and where the process has another
	 * root or mount namespace, in which the path may mean something else. */
	char path[PROGRAM_PATH];
	char build_id[ELF_BUILD_ID]; /* "": none, or not readable */
};

/* 0 or -errno. Does not need the lock of the process's memory map. */
int proc_program__read(pid_t pid, struct proc_program *p);

/* File names of libraries that are mapped, with "," between; "": none. */
struct proc_libraries {
	char mpi[PROGRAM_LIBS], gpu[PROGRAM_LIBS];
};

/* 0 or -errno. Needs the lock of the process's memory map, which its user may keep for ever. */
int proc_libraries__read(pid_t pid, struct proc_libraries *l);
/* Adds the library in a line of /proc/<pid>/maps, if it is one of those. */
void proc_libraries__take(struct proc_libraries *l, const char *line);

struct proc_cpus {
	int cpus, nodes;	 /* how many; nodes 0: not known */
	char list[PROGRAM_LIST]; /* "0-3,8"; "": it does not fit */
};

/* The CPUs that the process may use, and the NUMA nodes that have them. 0 or -errno. */
int proc_cpus__read(pid_t pid, struct proc_cpus *c);

#endif
