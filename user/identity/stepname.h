/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spellings of a step. Slurm's file names know only "batch" by name and every other step by
 * its unsigned number ("4294967292" is extern); its merged files have the signed number ("-4");
 * people write "extern".
 */
#ifndef JP_IDENTITY_STEPNAME_H
#define JP_IDENTITY_STEPNAME_H

#include <stdint.h>

/* Slurm's number of a step, from any of its spellings. -EINVAL: it is no spelling of a number, as
 * the name of a step of a CgroupPattern. */
int stepname__id(const char *name, uint32_t *id);
/* What people write: "0", "batch", "extern", "interactive"; a name of another kind stays as it
 * is. Points to name or to a constant. */
const char *stepname__human(const char *name);
/* The name of the step's group in a merged file, as sh5util gives it: "0", "batch", "-4", "-6". */
const char *stepname__group(const char *name);
/* Order of steps: numbers by value, then names. < 0, 0 (the same step), > 0. */
int stepname__cmp(const char *a, const char *b);

#endif
