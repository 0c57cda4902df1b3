/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of code, open for their tables; each is opened once for all processes. */
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
	Dwarf_CFI *cfi; /* NULL: it has no such table, or is no file for this machine */
};

struct code_files;

#endif
