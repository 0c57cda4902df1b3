/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a process, and its files, for a helper that may open nothing itself. Another process,
 * which may open files and parses none, answers through a socket. */
#ifndef JP_UNWIND_CODE_SOURCE_H
#define JP_UNWIND_CODE_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

#include "identity/proc_maps.h"

struct code_file;

struct code {
	struct code_range range;
	enum { CODE_FILE, CODE_CLOCKS, CODE_NONE } kind; /* CLOCKS: the vDSO */
	const struct code_file *file;			 /* NULL: not opened yet */
};

/* The next two functions end this process when the other one is gone. */
/* Reads the code ranges of a process, ordered by address. Returns how many; 0: not known. */
unsigned code_source__read(int socket, pid_t pid, struct code code[PROC_MAPS]);
/* Opens the file that has code at the address. The descriptor, or -ENOENT. */
int code_source__open(int socket, pid_t pid, uint64_t addr);
/* The work of the other process: it answers until the socket is closed, and opens only files that
 * are mapped as code.
 */
void code_source__serve(int socket);

#endif
