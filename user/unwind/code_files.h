/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that code is from, open for their tables; each is opened once for all processes. */
#ifndef JP_UNWIND_CODE_FILES_H
#define JP_UNWIND_CODE_FILES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/code_source.h"

struct code_file {
	uint64_t id;
	Elf *elf;
	Dwarf_CFI *cfi; /* NULL: it has no such table, or is none of this machine's files */
};

struct code_files;

struct code_files *code_files__new(void); /* NULL: no memory */
void code_files__free(struct code_files *f);
/* The file that the code is from, which the socket's other end opens. When there are too many, all
 * are closed. NULL: there is none, or no memory. */
const struct code_file *code_files__get(struct code_files *f, int socket, pid_t pid,
					const struct code *code);
/* How often all were closed: those of before are not to be used. */
unsigned code_files__forgotten(const struct code_files *f);
/* The virtual address of an offset of the file. False: it is in no segment. */
bool code_file__address(const struct code_file *file, uint64_t offset, uint64_t *addr);

#endif
