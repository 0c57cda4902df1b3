/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cgroup for what runs as jobs' users, so that it has limits of its own and is not in jobprofd's.
 * It is made in the cgroup that a service manager has given to jobprofd alone; started by hand,
 * jobprofd shares its cgroup with others, makes none, and its children stay where they are.
 */
#ifndef JP_DAEMON_CHILD_GROUP_H
#define JP_DAEMON_CHILD_GROUP_H

/* Makes it in v2 and in v1's memory and pids, wherever that can be done. On v2 jobprofd itself
 * moves into a cgroup beside it: limits are for cgroups whose parent has no processes. */
void child_group__make(void);
/* In a child: goes there. */
void child_group__enter(void);
/* Back to how it was. A child that is still there keeps it, below the cgroup it was made in. */
void child_group__remove(void);

#endif
