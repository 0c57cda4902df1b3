/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jobprof is linked twice. The one that is started as jobprof has the C library in it too: finding
 * and binding that takes longer than many a file. In return it cannot load libraries, which is how
 * drivers, plugins and name services are reached. What needs these is done by jobprof-full.
 */
#ifndef JP_CMD_JOBPROF_FULL_H
#define JP_CMD_JOBPROF_FULL_H

/* What main() was called with. */
void full__init(char **argv);

/* From the beginning again, as jobprof-full. Returns only where that cannot be, and has said then
 * that this is why there is no "what". */
void full__become(const char *what);

#endif
