/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes that Slurm's controller knows of a step's job. */
#ifndef JP_DAEMON_RECORD_JOB_ATTRS_H
#define JP_DAEMON_RECORD_JOB_ATTRS_H

#include "daemon/step/step.h"

/* Takes what is known of the step's job; if that is nothing, and the step begins on this node, has
 * the controller asked. */
void job_attrs__take(struct step *s, const struct step_env *env, uint64_t now_ns);
/* An answer may come that the step's file has not got. */
bool job_attrs__waits(const struct step *s, const struct step_env *env);
/* The step ends last of its job on this node, and its job's state is to be asked for: done. */
bool job_attrs__ask_end(const struct step *s, const struct step_env *env, uint64_t now_ns);
/* Puts what is known at the end of the job, its final state included. */
void job_attrs__put_end(struct step *s, const struct step_env *env, uint64_t now_ns);

#endif
