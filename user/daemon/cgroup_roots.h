/* SPDX-License-Identifier: GPL-2.0-only */
/* What to follow: mounted hierarchies x layouts. */
#ifndef JP_DAEMON_CGROUP_ROOTS_H
#define JP_DAEMON_CGROUP_ROOTS_H

struct daemon;

/* Hierarchies, layouts and the trie of both. 0; -errno: logged. */
int cgroup_roots__find(struct daemon *d);

#endif
