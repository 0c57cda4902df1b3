/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs, or cores, a step holds. */
#ifndef JP_DAEMON_STEP_CPUS_H
#define JP_DAEMON_STEP_CPUS_H

#include <stdint.h>

struct step;
struct step_env;

/* Looked up now and then, to the held of its sensors. */
void step_cpus__find(struct step *s, const struct step_env *env, uint64_t now_ns);

#endif
