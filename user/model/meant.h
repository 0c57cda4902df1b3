/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a file is of the job that a user means, as the file says of itself. */
#ifndef JP_MODEL_MEANT_H
#define JP_MODEL_MEANT_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/jobspec.h"

/* Both read the attributes of the file's first node, which may be damaged: in a limited child. */

/* The job id that a job file has, if the spec means it; 0: it does not, or it is no job file. */
uint32_t meant__job(const char *path, const struct jobspec *spec);
/* Whether the file is of the spec's component, or task of an array; with a job's id alone, of any
 * task of the array of that id. */
bool meant__part(const char *path, const struct jobspec *spec);

#endif
