/* SPDX-License-Identifier: GPL-2.0-only */
/* How files of a cgroup are read: numbers of their text, and the walk up to the mount. */
#ifndef JP_SENSOR_NODE_CGROUP_VALUE_H
#define JP_SENSOR_NODE_CGROUP_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/quantities.h"

/* The number behind key in a file's text; with key NULL the text is the number. NaN: there is none.
 */
double cgroup_value__parse(const char *text, const char *key);
/* As cgroup_value__parse(), of an open file. NaN also if the file cannot be read or its cgroup has
 * gone. */
double cgroup_value__read(int fd, const char *key);

/* The walk from a cgroup up to the mount of its hierarchy, for limits that are set above: path
 * becomes dir, then each parent. False: path is the mount itself, or dir is not below it. */
bool cgroup_value__begin(char *path, size_t size, const char *dir, const char *mount);
bool cgroup_value__up(char *path, const char *mount);

#endif
