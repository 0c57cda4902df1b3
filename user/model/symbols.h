/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions, by build id and offset, from the files of this machine. A file counts only if
 * it has the build id. debuginfod is asked where DEBUGINFOD_URLS is set, as all of elfutils does.
 * Files are parsed: for limited children (pool/pool.h).
 */
#ifndef JP_MODEL_SYMBOLS_H
#define JP_MODEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;

struct symbols *symbols__new(void); /* NULL: no memory */
void symbols__free(struct symbols *s);

/*
 * The function at an offset of a module as CallTree names it ("BUILDID PATH"), demangled; without a
 * symbol "FILE+0xOFFSET", where it begins in the file; where that is not known either, "[FILE]",
 * one name for all of them; the name itself where the module is a name. The text lives as long as
 * s; NULL: no memory.
 */
const char *symbols__name(struct symbols *s, const char *module, uint64_t offset);

/* The offset in a program's file of the byte at `place`, which the kernel counts from the begin of
 * the program's code (jp_place). False: the file is not here. */
bool symbols__offset(struct symbols *s, const char *module, uint64_t place, uint64_t *offset);

/* Whether the module was without a build id when it ran, and its file is here and has none. */
bool symbols__lacks_id(const char *module);

#endif
