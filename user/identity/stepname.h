/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spellings of a step. Slurm's file names know only "batch" by name and every other step by
 * its unsigned number ("4294967292" is extern); its merged files have the signed number ("-4");
 * people write "extern".
 */
#ifndef JP_IDENTITY_STEPNAME_H
#define JP_IDENTITY_STEPNAME_H

#include <stdint.h>

/* Slurm's number of a step in any of its spellings. -EINVAL: none of them, as the names of steps
 * of a CgroupPattern are not. */
int stepname__id(const char *name, uint32_t *id);
/* What people write: "0", "batch", "extern", "interactive"; a name of another kind stays as it
 * is. Points to name or to a constant. */
const char *stepname__human(const char *name);
/* The name of the step's group in a merged file, as sh5util gives it: "0", "batch", "-4", "-6". */
const char *stepname__group(const char *name);
/* Order of steps: numbers by value, then what has a name. < 0, 0 (the same step), > 0. */
int stepname__cmp(const char *a, const char *b);

#endif
