// SPDX-License-Identifier: GPL-2.0-or-later
/* Network interfaces that have a device, in the network namespace of the process. Interfaces
 * without one (lo, veth, bridges, VLANs, bonds) are left out, since others count the same data. So
 * are the lower half of another interface (a virtual function below hv_netvsc or net_failover), and
 * an interface that represents a virtual function on the host's side. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sensor/core/proc_table.h"

/* Numbers in a line of /proc/net/dev. */
static const struct proc_table_column columns[] = {
	{"RxMB", "B", 0, 1, 0},	    {"TxMB", "B", 8, 1, 0},    {"RxPackets", "", 1, 1, 0},
	{"TxPackets", "", 9, 1, 0}, {"RxErrors", "", 2, 1, 0}, {"TxErrors", "", 10, 1, 0},
	{"RxDrops", "", 3, 1, 0},   {"TxDrops", "", 11, 1, 0}, {"Multicast", "", 7, 1, 0},
};

/* Whether an interface represents a virtual function on the host's side: "pf0vf3", "c1pf0sf88". */
static bool is_representor(const char *dir, const char *name)
{
	char path[PATH_MAX], port[64];
	const char *at;

	if (snprintf(path, sizeof(path), "%s/%s/phys_port_name", dir, name) >= (int)sizeof(path) ||
	    read_file(AT_FDCWD, path, port, sizeof(port)) < 0)
		return false;
	at = strstr(port, "pf");
	return at && (strstr(at, "vf") || strstr(at, "sf"));
}

static bool is_counted(const char *dir, const char *name)
{
	return proc_table__has(dir, name, "device") &&
	       !proc_table__has(dir, name, "master/device") && !is_representor(dir, name);
}

/* Splits a line such as " eth0: 123 4 ...". */
static const char *split_line(const char *line, size_t len, const char **name, size_t *name_len)
{
	const char *colon = memchr(line, ':', len);

	*name = line + strspn(line, " ");
	if (!colon || colon < *name)
		return NULL;
	*name_len = (size_t)(colon - *name);
	return colon + 1;
}

static const struct proc_table_format format = {
	.noun = "network interface",
	.series = "NetDev",
	.part = PART_PORT,
	.class = "class/net",
	.file = "net/dev",
	.is_counted = is_counted,
	.split = split_line,
	.column = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
};

static int netdev_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	return proc_table__open(s, &format, roots);
}

const struct sensor_ops sensor_netdev = {
	.name = "netdev",
	.doc = "network interfaces that have a device",
	.size = sizeof(struct proc_table),
	.open = netdev_open,
	.describe = proc_table__describe,
	.channels = proc_table__channels,
	.read = proc_table__read,
	.close = proc_table__close,
};
