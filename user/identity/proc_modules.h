/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of files that a process has mapped as code, by address. Paths are its user's choice,
 * and parsed as hostile. */
#ifndef JP_IDENTITY_PROC_MODULES_H
#define JP_IDENTITY_PROC_MODULES_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/jobprof.h"

#define MODULE_RANGES 2048 /* of a process; what is beyond them is unknown */

struct module_range {
	uint64_t from, to;
	enum jp_module module;
};

struct proc_modules {
	unsigned n;
	struct module_range range[MODULE_RANGES]; /* ascending */
};

/* 0 or -errno. Needs the lock of the process's memory map, which its user may keep for ever. */
int proc_modules__read(pid_t pid, struct proc_modules *m);
/* Adds a line of /proc/<pid>/maps, if it is of code. program: the target of the process's link exe;
 * "": not known.
 */
void proc_modules__take(struct proc_modules *m, const char *line, const char *program);
/* JP_MODULE_UNKNOWN: no code is mapped there. */
enum jp_module proc_modules__at(const struct proc_modules *m, uint64_t address);

#endif
