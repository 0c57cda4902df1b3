/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions, by build id and offset, from the files of this machine. A file counts only if
 * it has the build id. debuginfod is asked where DEBUGINFOD_URLS is set, as all of elfutils does.
 * Files of others are parsed, so only limited children (pool/pool.h) may call this.
 */
#ifndef JP_MODEL_SYMBOLS_H
#define JP_MODEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;

struct symbols *symbols__new(void); /* NULL: no memory */
void symbols__free(struct symbols *s);

/*
 * The demangled name of the function at an offset of a module ("BUILDID PATH", as in CallTree).
 * Without a symbol it is "FILE+0xOFFSET", by the function's begin in the file; where that is not
 * known either, "[FILE]" for all functions; and the module itself where it is no file. The text
 * lives as long as s; NULL: no memory.
 */
const char *symbols__name(struct symbols *s, const char *module, uint64_t offset);

/* The offset in a program's file of the byte at `place`, which is counted from the begin of the
 * program's code (JP_PLACE_LIBRARY). False: this machine does not have the file. */
bool symbols__offset(struct symbols *s, const char *module, uint64_t place, uint64_t *offset);

/* Whether the module had no build id when it ran, and its file on this machine has none either. */
bool symbols__lacks_id(const char *module);

#endif
