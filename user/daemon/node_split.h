/* SPDX-License-Identifier: GPL-2.0-only */
/* The node's energy, split among its steps. */
#ifndef JP_DAEMON_NODE_SPLIT_H
#define JP_DAEMON_NODE_SPLIT_H

#include <stdint.h>

struct node;
struct step;
struct step_env;

/* Adds each step's part since the last time to its sensors, by what the snapshot says they did. */
void node_split__run(struct node *n, struct step *steps, const struct step_env *env,
		     uint64_t now_ns);
/* Of the list, those that have a part. */
unsigned node_split__count_steps(const struct step *s);

#endif
