/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the node's sensors, and choosing which are read. */
#ifndef JP_DAEMON_NODE_READ_H
#define JP_DAEMON_NODE_READ_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* A step with short intervals, or one that begins, has slow sources read that often. */
#define NODE_SLOW_NS (1000 * 1000 * 1000ull)

void node_read__sensors(struct node *n, uint64_t now_ns, bool all);
/* What is read from now on: sources of those families; and how often slow sources are. */
void node_read__want(struct node *n, unsigned families, uint64_t period_ns);

#endif
