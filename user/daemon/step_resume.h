/* SPDX-License-Identifier: GPL-2.0-only */
/* A step whose journal an earlier jobprofd has not finished. */
#ifndef JP_DAEMON_STEP_RESUME_H
#define JP_DAEMON_STEP_RESUME_H

#include "daemon/step.h"

/* Resumes an unfinished journal after a restart; NULL: it is not this boot's or broken, and its
 * publication *p is filled so that the file can be finished. */
struct step *step__resume(const struct step_env *env, const char *path, struct publication *p);

#endif
