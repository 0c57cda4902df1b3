/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a file is of the job that a user means, as the file says of itself. */
#ifndef JP_MODEL_MEANT_H
#define JP_MODEL_MEANT_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/jobspec.h"

/* All read the attributes of the file's first node, which may be damaged: in a limited child. */

/* The id of the file's job, if specs[n] of one job mean the file; 0: they do not, or the file does
 * not say. Of a job file steps are not asked for. */
uint32_t meant__job(const char *path, const struct jobspec *specs, unsigned n);
/* Whether the file is a profile of any job. */
bool meant__profile(const char *path);
/* The id of the file's job, if that is another one than the spec's; 0: it is not, or the file does
 * not say. */
uint32_t meant__other(const char *path, const struct jobspec *spec);
/* Whether the file is of the spec's component, or task of an array; with a job's id alone, of any
 * task of the array of that id. */
bool meant__part(const char *path, const struct jobspec *spec);

#endif
