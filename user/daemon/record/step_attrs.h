/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the node group of a step's file: Slurm's five, then ours; what is unknown is
 * absent. */
#ifndef JP_DAEMON_RECORD_STEP_ATTRS_H
#define JP_DAEMON_RECORD_STEP_ATTRS_H

#include "daemon/step/step.h"

/* Journals the attributes that are known when the step begins. */
void step__put_start_attrs(struct step *s, const struct step_env *env);
/* Journals the attributes on what sensors say, which depend on whether the step has the node for
 * itself. */
void step__put_node_attrs(struct step *s, const struct step_env *env);
/* Journals the attributes from the environment of a task. */
void step__put_env_attrs(struct step *s);
/* Journals the attributes that are known when the step has ended. reason may be NULL: found from
 * the tasks. */
void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason);
/* Slurm has ended the step by a signal, and only Slurm knows why. */
bool step__must_ask_squeue(const struct step *s, const struct step_env *env);
/* The node is the step's first one: it asks Slurm on behalf of all. */
bool step__on_first_node(const struct step *s);
/* Journals the attributes that Slurm's plugins have sent: they outrank those from the
 * environment. */
void step__put_slurm_attrs(struct step *s);

#endif
