/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the node itself: what its processors and its memory are. */
#ifndef JP_DAEMON_RECORD_NODE_ATTRS_H
#define JP_DAEMON_RECORD_NODE_ATTRS_H

struct journal;

/* Threads per Core, Node Cores, Node Memory (MB) and CPU Model; what is not known is left out. */
void node_attrs__put(struct journal *j);

#endif
