/* SPDX-License-Identifier: GPL-2.0-only */
/* Which steps use the node's GPUs: those whose processes are on them. */
#ifndef JP_DAEMON_NODE_GPUS_H
#define JP_DAEMON_NODE_GPUS_H

#include <stdbool.h>

struct node;
struct snapshot;
struct step;
struct step_env;

/* There are GPUs that say, or will say, which processes use them. n may be NULL, here and below. */
bool node_gpus__known(const struct node *n);
/* Before a snapshot: tells it which processes use the GPUs now. */
void node_gpus__mark(struct node *n, struct snapshot *snap);
/* Of each GPU the part that is each step's, to the gpu of its sensors. */
void node_gpus__share(struct node *n, struct step *steps, const struct step_env *env);

#endif
