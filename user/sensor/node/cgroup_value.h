/* SPDX-License-Identifier: GPL-2.0-only */
/* What cgroups say of themselves: the values, and how their files are read. */
#ifndef JP_SENSOR_NODE_CGROUP_VALUE_H
#define JP_SENSOR_NODE_CGROUP_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/quantities.h"

/* The number behind key in the text of a file, or with NULL the one that the file is; NaN: none. */
double cgroup_value__parse(const char *text, const char *key);
/* The same of an open file; NaN also where it cannot be read, or its cgroup has gone. */
double cgroup_value__read(int fd, const char *key);

/* The walk from a cgroup up to the mount of its hierarchy, for what is set above: path is dir, then
 * each parent; false: there is none below the mount any more, or dir is not below it. */
bool cgroup_value__begin(char *path, size_t size, const char *dir, const char *mount);
bool cgroup_value__up(char *path, const char *mount);

#endif
