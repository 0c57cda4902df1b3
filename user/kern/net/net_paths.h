/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways that data of a program can take to and from the network, and which of them the network
 * counters see on this node. Where a way can be tried, own bytes go over loopback, and the counters
 * show whether they are seen.
 */
#ifndef JP_KERN_NET_PATHS_H
#define JP_KERN_NET_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_PATHS	16
#define NET_PATH_DETAIL 160

enum net_verdict { NET_SEEN, NET_NOT_SEEN, NET_NOT_HERE, NET_NOT_TRIED };

struct net_path {
	const char *name;   /* as it is said where it is seen or not seen */
	const char *absent; /* as it is said after "no" */
	enum net_verdict verdict;
	bool tried;		      /* else the verdict is what is known of such kernels */
	char detail[NET_PATH_DETAIL]; /* which devices; why it could not be tried; "" */
};

struct net_probe {
	bool packets;	    /* the counters are those of packets, not of sockets */
	const char *sysfs;  /* "/sys" */
	const char *procfs; /* "/proc" */
	/* The bytes that the calling process has sent and received so far, by the counters. */
	void (*counted)(void *ctx, uint64_t *tx, uint64_t *rx);
	void *ctx;
};

/* Tries all paths. out: at least NET_PATHS of them; returns how many. Takes a few ms. */
unsigned net_paths__probe(const struct net_probe *p, struct net_path *out);
/* Prints the result as one line: "probed, seen: A, B; probed, not seen: ...; no RDMA device". */
void net_paths__text(const struct net_path *paths, unsigned n, char *text, size_t len);

#endif
