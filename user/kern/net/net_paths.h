/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways that data of a program can take to and from the network, and which of them the network
 * counters see. */
#ifndef JP_KERN_NET_PATHS_H
#define JP_KERN_NET_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* One line: "seen: A, B; not seen: C (device, device); no D, no E". packets: the counters are those
 * of packets, not of sockets. sysfs and procfs: "/sys" and "/proc". */
void net_paths__text(bool packets, const char *sysfs, const char *procfs, char *text, size_t len);

#endif
