/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a process: its files, and where parts of them are mapped. For helper processes only,
 * because a user can make a reader of a memory map wait for ever. */
#ifndef JP_IDENTITY_PROC_MAPS_H
#define JP_IDENTITY_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity/elf.h"

#define PROC_MAPS     400
#define PROC_MAP_NAME (ELF_BUILD_ID + 208)

/* Code that lies together. */
struct code_range {
	uint64_t start, end, offset; /* of start in the file */
};

/* For bsearch(3): compares an address with a struct that begins with a range. */
int code_range__compare(const void *addr, const void *range);
/* Where in the file an address of the range is. */
uint64_t code_range__offset(const struct code_range *r, uint64_t addr);

/* name: build id ("-": none), a blank, and the path; or "[vdso]" and the like. A path that does not
 * fit is cut at its beginning, and begins with "..." then. */
struct proc_map {
	struct code_range range;
	char name[PROC_MAP_NAME];
};

/* ids: files are opened for their build ids; else all have "-". *n becomes the number of maps,
 * which are ordered by address; *cut: there were more. 0 or -errno. */
int proc_maps__read(pid_t pid, bool ids, struct proc_map maps[PROC_MAPS], unsigned *n, bool *cut);
/* Opens the file that is mapped there. The descriptor, or -errno; -ENOENT: it is no regular file.
 */
int proc_maps__open(pid_t pid, uint64_t start, uint64_t end);

#endif
